// A file that takes another's place when it is whole. No exceptions. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "src/base/status.h"

namespace crosscut::base {

// It lies beside its place, under a name that nobody can foresee, and goes again unless Place() is
// called. Nobody else's file is opened for it, and no link followed. Its folder is the one that had
// the name at first, whatever gets that name later.
class NewFile {
 public:
  // For `path`: with the mode and the group of this user's plain file there, else as the umask
  // leaves 0644. Whoever is not in that group gives its members no right.
  static Result<NewFile> For(const std::string& path);
  // In `folder`, for this user alone and without a name: it never gets a place.
  static Result<NewFile> Scratch(const std::string& folder);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int fd() const { return fd_; }  // for reading and writing
  Status Write(std::string_view bytes);
  // Puts the file in its place, whatever is there; with `durable`, from stable storage. Call it
  // once.
  Status Place(bool durable = false);

 private:
  static Result<NewFile> Make(const std::string& folder, mode_t mode, std::string path);
  explicit NewFile(std::string path) : path_(std::move(path)) {}

  int fd_ = -1, folder_ = -1;
  std::string part_, path_;  // part_: its name in the folder; "" once it is placed
};

// A name in `folder`, which ends with a slash or is "", that nobody can foresee; "" where there are
// no random numbers. It has one length, so that a place may have the longest name there is.
std::string UnforeseenName(const std::string& folder);

// The folder that `path` lies in, with its slash; "" is the current one.
std::string FolderOf(const std::string& path);

}  // namespace crosscut::base
