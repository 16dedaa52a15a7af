#include "src/import/chrome/chrome_processes.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

namespace crosscut::import {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kMostFits = 256;  // work that so many launched says of none that it is its own

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Those for which `holds`; all where it holds for none.
template <class Holds>
std::vector<uint32_t> Prefer(const std::vector<uint32_t>& all, Holds holds) {
  std::vector<uint32_t> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), holds);
  return some.empty() ? all : some;
}

}  // namespace

ChromePid MakeChromePid(std::string_view text) {
  ChromePid pid;
  pid.text = text;
  const char* const begin = text.data();
  const auto [rest, error] = std::from_chars(begin, begin + text.size(), pid.number);
  if (error == std::errc() && rest == begin + text.size()) return pid;
  pid.number = -1;
  size_t end = text.size();
  while (end > 0 && !IsDigit(text[end - 1])) --end;
  size_t first = end;
  while (first > 0 && IsDigit(text[first - 1])) --first;
  if (first == end || std::from_chars(begin + first, begin + end, pid.number).ec != std::errc()) {
    return pid;
  }
  pid.label.append(text.substr(0, first)).append(text.substr(end));
  return pid;
}

ChromeProcesses::ChromeProcesses(std::vector<ChromePid>* pids,
                                 const std::pmr::deque<ChromeRow>& rows,
                                 trace::StringId correlation)
    : pids_(*pids), rows_(rows), correlation_(correlation) {}

void ChromeProcesses::Decide() {
  FindHosts();
  GroupHosts();
  for (const ChromeRow& row : rows_) {
    if (row.place == Place::kDevice) device_rows_[row.pid].push_back(&row);
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i].owner == kNone && pids_[i].device) FindOwner(i);
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i].owner == i) last_own_ = i;
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i].owner == kNone) FindAny(i);
  }
}

// Rows of threads under the pid of a device: PyTorch writes some Python functions under pid 0, and
// runtimes of some devices their own calls.
bool ChromeProcesses::IsDevices(const ChromePid& pid) const {
  const ChromePid& main = pids_[main_];
  if (&pid == &main || main.operators == 0 || pid.operators > 0) return false;
  if (!pid.kind.empty() && pid.kind != "CPU") return true;
  return pid.spans == pid.python && (pid.number == 0 || pid.device);
}

void ChromeProcesses::FindHosts() {
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    const bool more = main_ == kNone || pids_[i].operators > pids_[main_].operators;
    if (pids_[i].host && more) main_ = i;
  }
  for (uint32_t i = 0; i < pids_.size(); ++i) {
    ChromePid& pid = pids_[i];
    const bool own = pid.host && !IsDevices(pid);
    pid.owner = own ? i : kNone;
    if (own) hosts_.hosts.push_back(i);
    launching_ += own && pid.launches > 0 ? 1 : 0;
  }
}

void ChromeProcesses::GroupHosts() {
  for (const uint32_t host : hosts_.hosts) {
    const ChromePid& pid = pids_[host];
    named_ |= pid.rank >= 0 || !pid.label.empty();
    if (pid.rank >= 0) groups_[{pid.rank, ""}].hosts.push_back(host);
    if (!pid.label.empty()) groups_[{-1, pid.label}].hosts.push_back(host);
    if (pid.rank >= 0 && !pid.label.empty()) {
      groups_[{pid.rank, pid.label}].hosts.push_back(host);
    }
  }
  const auto fill = [this](Group* group) {
    for (const uint32_t host : group->hosts) {
      group->by_name[pids_[host].name.value].push_back(host);
    }
    group->best = Prefer(group->hosts, [this](uint32_t host) { return pids_[host].operators > 0; });
    group->best = Prefer(group->best, [this](uint32_t host) { return pids_[host].launches > 0; });
  };
  fill(&hosts_);
  for (auto& [what, group] : groups_) fill(&group);
}

void ChromeProcesses::FindOwner(uint32_t index) {
  ChromePid& pid = pids_[index];
  const Group& named = NamedFor(pid);
  if (named.hosts.empty()) {
    pid.owner = strangers_.try_emplace({pid.rank, pid.label}, index).first->second;
    return;
  }
  pid.owner = OnlyOfName(pid, named);
  if (pid.owner != kNone) return;
  pid.told = named.best.size() == 1;
  pid.owner = pid.told ? named.best.front() : MostLaunched(index, named.best);
}

// Where hosts have ranks or labels, a device's says whose it is, or that its process is not here.
const ChromeProcesses::Group& ChromeProcesses::NamedFor(const ChromePid& device) const {
  const int64_t rank = std::max<int64_t>(device.rank, -1);
  if (!named_ || (rank < 0 && device.label.empty())) return hosts_;
  const auto group = groups_.find({rank, device.label});
  return group == groups_.end() ? nobody_ : group->second;
}

uint32_t ChromeProcesses::OnlyOfName(const ChromePid& device, const Group& hosts) {
  if (!device.name.valid() || device.two_names) return kNone;
  const auto same = hosts.by_name.find(device.name.value);
  return same != hosts.by_name.end() && same->second.size() == 1 ? same->second.front() : kNone;
}

// Of a pid without rows, which may have counters.
void ChromeProcesses::FindAny(uint32_t index) {
  ChromePid& pid = pids_[index];
  const Group& named = NamedFor(pid);
  if (!named.hosts.empty()) {
    const uint32_t only = OnlyOfName(pid, named);
    pid.owner = only != kNone ? only : named.hosts.front();
  } else if (!hosts_.hosts.empty()) {
    pid.owner = hosts_.hosts.front();
  } else {
    if (last_own_ == kNone) last_own_ = index;
    pid.owner = last_own_;
  }
}

// Where several fit alike, the one that stands before the device in the file.
uint32_t ChromeProcesses::MostLaunched(uint32_t device, const Hosts& hosts) {
  FindLaunches();
  std::map<uint32_t, uint64_t> fits;  // by host, only those of `hosts`
  for (const ChromeRow* row : device_rows_[device]) {
    for (size_t i = 0; i < row->spans.size(); ++i) {
      const ChromeSpan& span = row->spans[i];
      const auto [first, last] = LaunchesOf(CorrelationOf(*row, span));
      if (last - first > kMostFits) continue;
      for (size_t l = first; l < last; ++l) {
        const bool may = std::binary_search(hosts.begin(), hosts.end(), launches_[l].pid);
        if (may && launches_[l].at_ns <= span.begin_ns) ++fits[launches_[l].pid];
      }
    }
  }
  const auto before = std::lower_bound(hosts.begin(), hosts.end(), device);
  uint32_t best = before == hosts.begin() ? hosts.front() : *(before - 1);
  uint64_t most = 0;
  for (const auto& [host, fit] : fits) {
    if (fit > most || (fit == most && host < device)) best = host, most = fit;
  }
  return best;
}

void ChromeProcesses::FindLaunches() {
  if (std::exchange(found_launches_, true)) return;
  for (const ChromeRow& row : rows_) {
    if (row.place != Place::kThread || pids_[row.pid].owner != row.pid) continue;
    for (size_t i = 0; i < row.spans.size(); ++i) {
      const int64_t correlation = CorrelationOf(row, row.spans[i]);
      if (correlation > 0) launches_.push_back({correlation, row.pid, row.spans[i].begin_ns});
    }
  }
  std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
    return std::tie(a.correlation, a.pid, a.at_ns) < std::tie(b.correlation, b.pid, b.at_ns);
  });
  const auto same = [](const Launch& a, const Launch& b) {
    return a.correlation == b.correlation && a.pid == b.pid;
  };
  launches_.erase(std::unique(launches_.begin(), launches_.end(), same), launches_.end());
}

int64_t ChromeProcesses::CorrelationOf(const ChromeRow& row, const ChromeSpan& span) const {
  const trace::Arg arg = row.args.Find(span.owner, correlation_);
  return arg.key.valid() && !arg.is_text ? arg.value : 0;
}

std::pair<size_t, size_t> ChromeProcesses::LaunchesOf(int64_t correlation) const {
  if (correlation <= 0) return {0, 0};
  const auto before = [](const Launch& a, int64_t number) { return a.correlation < number; };
  const auto first = std::lower_bound(launches_.begin(), launches_.end(), correlation, before);
  const auto last = std::lower_bound(first, launches_.end(), correlation + 1, before);
  return {static_cast<size_t>(first - launches_.begin()),
          static_cast<size_t>(last - launches_.begin())};
}

bool ChromeProcesses::Shared(const ChromeRow& row) const {
  return row.place != Place::kThread && !pids_[row.pid].told;
}

uint32_t ChromeProcesses::OnlyLauncher(const ChromeRow& row, const ChromeSpan& span) const {
  const auto [first, last] = LaunchesOf(CorrelationOf(row, span));
  const bool one = first < last && launches_[first].pid == launches_[last - 1].pid;
  return one ? launches_[first].pid : kNone;
}

uint32_t ChromeProcesses::OwnerOf(const ChromeRow& row, const ChromeSpan& span) const {
  const uint32_t only = OnlyLauncher(row, span);
  return only != kNone ? only : pids_[row.pid].owner;
}

uint64_t ChromeProcesses::Unsure(const ChromeRow& row) const {
  uint64_t unsure = 0;
  for (size_t i = 0; row.place == Place::kDevice && i < row.spans.size(); ++i) {
    unsure += OnlyLauncher(row, row.spans[i]) == kNone ? 1 : 0;
  }
  return unsure;
}

}  // namespace crosscut::import
