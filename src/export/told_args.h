// The arguments of a span or an instant that other tools are told.
#pragma once

#include "src/trace/args.h"

namespace crosscut::exporting {

// Calls visit(arg): of each key the last, without what stands beside the arguments.
template <class Visit>
void ForEachTold(const trace::Args::Range& args, Visit visit) {
  for (auto at = args.begin(); at != args.end(); ++at) {
    if (!(*at).beside && !args.StandsLater(at)) visit(*at);
  }
}

}  // namespace crosscut::exporting
