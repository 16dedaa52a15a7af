// What a session makes of hardware metrics.

#include "session.h"

namespace crosscut::cupti {

// The program asks for other metrics than before, or for none.
void Session::MeasureOther(const MetricOptions& options) {
  {
    const std::lock_guard lock(records_mutex_);
    PushWindows();
  }
  metrics_.Ask(host_, options, options_.flows);
  BeginMetrics();
}

void Session::BeginMetrics() {
  // Launches that are not heard could be taken for another's.
  const bool hears = subscriber_ != nullptr && options_.calls && options_.driver;
  if (metrics_.is_asked() && hears) {
    (void)api_.EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                              CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  }
  metrics_.Begin(&api_, hears);
}

void Session::PushWindows() {
  while (const uint32_t measured = metrics_.TakeWindow()) {
    records_.PushWindow(measured, clock_.ToCupti(host_->now_ns(host_->host)));
  }
}

}  // namespace crosscut::cupti
