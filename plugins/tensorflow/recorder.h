// The recorder library, looked up at run time: this plugin loads where Crosscut's is missing, and
// then does nothing.
#pragma once

#include <cstdint>
#include <string>

namespace crosscut::tensorflow {

// Functions of libcrosscut.so.1 (crosscut.h): of the one that is in the process already, else of
// the one in our package. Found once; false where there is none. Any thread.
class Recorder {
 public:
  static const Recorder* Find();  // null: none

  // Opens a session in `folder`; its number, 0 where one is open already or it cannot be had.
  uint32_t Start(const std::string& folder) const;
  // Does nothing where that session is over: the program may have ended it, and begun its own.
  void Stop(uint32_t session) const;
  // Waits, within their deadlines, for what plugins hand over after Stop(), where no session is
  // open whose they are.
  void FinishPlugins() const;
  // A session is open, by whomever.
  bool Active() const;

 private:
  bool Load();
  int (*start_)(const void* options) = nullptr;
  int (*stop_)() = nullptr;
  int (*active_)() = nullptr;
  uint32_t (*sessions_)() = nullptr;
  void (*plugins_finish_)() = nullptr;
};

// Brings in the Python boundary and the annotations of this process, where it is a Python and the
// package `crosscut` can be imported.
void ActivatePython();

// The folder of our package (.../crosscut): the one this library lies in, links resolved, or, for a
// copy in TensorFlow's folder, the one that the file beside it names. "" where there is none.
std::string PackageFolder();

}  // namespace crosscut::tensorflow
