// Names that somebody may have meant who wrote another one: for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crosscut::base {

// Those of `names` that look most like `wrong`, the likeliest first, at most three: a few letters
// are missing, added, changed or swapped (Damerau's and Levenshtein's distance, at most a third of
// the letters), or `wrong` is how the name begins. Capitals do not matter, nor - for _.
std::vector<std::string> Nearest(std::string_view wrong, const std::vector<std::string>& names);

// "; did you mean overlap or overhead?", or "" where no name is near.
std::string DidYouMean(std::string_view wrong, const std::vector<std::string>& names);

// The same for the last part of `path`, among the files of the folder that it lies in; they are
// named as `path` is, with the folder.
std::string DidYouMeanFile(const std::string& path);

// Says that `wrong` is none of `names`, and which it may be: "unknown format cvs; did you mean csv?
// The formats are csv, json". More than a dozen names are not listed. `what`: a noun that takes an
// s.
std::string UnknownName(std::string_view what, std::string_view wrong,
                        const std::vector<std::string>& names);

}  // namespace crosscut::base
