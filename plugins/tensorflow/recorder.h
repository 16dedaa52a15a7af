// The recorder library, looked up at run time: this plugin loads where Crosscut's is missing, and
// then does nothing.
#pragma once

#include <string>

namespace crosscut::tensorflow {

// Functions of libcrosscut.so.1 (crosscut.h): of the one that is in the process already, else of
// the one in our package. Found once; false where there is none. Any thread.
class Recorder {
 public:
  static const Recorder* Find();  // null: none

  // Opens a session in `folder`. False where one is open already or it cannot be had.
  bool Start(const std::string& folder) const;
  void Stop() const;
  // Waits, within their deadlines, for what plugins hand over after Stop().
  void FinishPlugins() const;
  // A session is open, by whomever.
  bool Active() const;

 private:
  bool Load();
  int (*start_)(const void* options) = nullptr;
  int (*stop_)() = nullptr;
  int (*active_)() = nullptr;
  void (*plugins_finish_)() = nullptr;
};

// Brings in the Python boundary and the annotations of this process, where it is a Python and the
// package `crosscut` can be imported.
void ActivatePython();

// The folder of our package (.../crosscut): the one this library lies in, links resolved, or, for a
// copy in TensorFlow's folder, the one that the file beside it names. "" where there is none.
std::string PackageFolder();

}  // namespace crosscut::tensorflow
