#include "own_code.h"

#include <filesystem>

namespace crosscut::samples {
namespace {

// Whether `path` lies in `folder`. One without a name holds nothing.
bool LiesIn(std::string_view path, std::string_view folder) {
  if (folder.empty() || !path.starts_with(folder)) return false;
  return folder.ends_with('/') || path.substr(folder.size()).starts_with('/');
}

// Installed packages, wherever the folder is. Files that PyTorch's and TensorFlow's compilers
// write: the line that called them says more.
constexpr std::string_view kOthers[] = {"/site-packages/", "/dist-packages/", "/torchinductor_",
                                        "/__autograph_generated_file"};

// Cells of a notebook; and functions that cloudpickle carries to another process, whose file it
// does not tell: joblib's, Ray's, Dask's.
constexpr std::string_view kGiven[] = {"<ipython-input", "<cell", "<dynamic-code>"};

}  // namespace

Owner OwnCode::OwnerOf(std::string_view path) const {
  if (path == "<string>" || path == "<stdin>") return Owner::kUnnamed;
  for (const std::string_view begin : kGiven) {
    if (path.starts_with(begin)) return Owner::kProgram;
  }
  if (path.empty() || path.starts_with('<')) return Owner::kOther;
  for (const std::string_view part : kOthers) {
    if (path.find(part) != std::string_view::npos) return Owner::kOther;
  }
  for (const std::string& other : others) {
    if (LiesIn(path, other)) return Owner::kOther;
  }
  return Owner::kProgram;
}

std::string OwnCode::Shown(std::string_view path) const {
  if (OwnerOf(path) == Owner::kUnnamed && !program.empty()) {
    return (program.starts_with('/') ? Shown(program) : program) + "/" + std::string(path);
  }
  if (path.starts_with('<')) return std::string(path);
  const std::string whole = (std::filesystem::path(here) / path).lexically_normal();
  for (const std::string& folder : folders) {
    if (LiesIn(whole, folder)) return whole.substr(folder.size() + !folder.ends_with('/'));
  }
  const size_t file = whole.rfind('/');
  if (file == whole.npos || file == 0) return whole.substr(file + 1);
  return whole.substr(whole.rfind('/', file - 1) + 1);
}

}  // namespace crosscut::samples
