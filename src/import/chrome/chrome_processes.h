// Finds the process to which each row of a Chrome trace belongs.
//
// A pid is a process or a device: Kineto writes the work of device N under pid N. Tools that merge
// the traces of several ranks into one file rename pids ("[TP00] 0"), add to them or leave them as
// they are; correlations then repeat. A device's process is the one that the file names: by the
// text around the pid's number, by the rank among the arguments, by the process's name, or because
// only one process launches. Otherwise it is the process that launched most of the device's work;
// how much of that work would also fit others is counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/import/chrome/chrome_rows.h"
#include "src/trace/builder.h"

namespace crosscut::import {

struct ChromePid {
  std::string text;     // as the file writes it
  int64_t number = -1;  // the number in it; -1: none
  std::string label;    // what stands around the number
  int64_t rank = -1;    // among the arguments of its first event; -1: none
  trace::StringId name;
  std::string kind;                   // its label in the file: "GPU 0"; "CPU" where it has several
  bool streams = false;               // a row of it is called as XProf calls real queues
  bool two_names = false;             // the file gives it two names: it is of several processes
  bool host = false, device = false;  // has rows of threads, of devices
  uint64_t spans = 0, python = 0, operators = 0, launches = 0;  // of its threads
  uint32_t owner = 0;  // index of the pid that is its process; its own index: it is one
  bool told = true;    // the file names the owner
  trace::ProcessId process;
};

// "[TP00] 1000" is number 1000 with the label "[TP00] ".
ChromePid MakeChromePid(std::string_view text);

class ChromeProcesses {
 public:
  // `pids` and `rows` must outlive this. The rows have all their spans.
  ChromeProcesses(std::vector<ChromePid>* pids, const std::pmr::deque<ChromeRow>& rows,
                  trace::StringId correlation);

  // Fills in ChromePid::owner and `told` of all pids. The other functions need it.
  void Decide();
  // Index of the pid that is the process with the most operators; UINT32_MAX where there is none.
  uint32_t main() const { return main_; }
  // How many processes launched work on devices.
  size_t launching() const { return launching_; }
  // Whether work on the row may belong to several processes.
  bool Shared(const ChromeRow& row) const;
  // Index of the pid whose process launched `span` of such a shared row.
  uint32_t OwnerOf(const ChromeRow& row, const ChromeSpan& span) const;
  // How much work on such a shared row fits several processes, or none.
  uint64_t Unsure(const ChromeRow& row) const;

 private:
  struct Launch {
    int64_t correlation;
    uint32_t pid;
    int64_t at_ns;
  };
  using Hosts = std::vector<uint32_t>;  // indices of pids, in order
  // Hosts that the file names alike.
  struct Group {
    Hosts hosts;
    Hosts best;  // those among which the file does not choose for a device
    std::unordered_map<uint32_t, Hosts> by_name;
  };
  using RankAndLabel = std::pair<int64_t, std::string>;

  bool IsDevices(const ChromePid& pid) const;
  void FindHosts();
  void GroupHosts();
  void FindOwner(uint32_t pid);
  // Those that the file names for the device by rank and label; empty: a process that has no rows
  // here.
  const Group& NamedFor(const ChromePid& device) const;
  // The only one of them that has its name, too; kNone where there is none.
  static uint32_t OnlyOfName(const ChromePid& device, const Group& hosts);
  void FindAny(uint32_t pid);
  uint32_t MostLaunched(uint32_t device, const Hosts& hosts);
  void FindLaunches();
  int64_t CorrelationOf(const ChromeRow& row, const ChromeSpan& span) const;
  // The one pid that has launched with that span's correlation; UINT32_MAX: none or several.
  uint32_t OnlyLauncher(const ChromeRow& row, const ChromeSpan& span) const;
  // The launches of one correlation.
  std::pair<size_t, size_t> LaunchesOf(int64_t correlation) const;

  std::vector<ChromePid>& pids_;
  const std::pmr::deque<ChromeRow>& rows_;
  trace::StringId correlation_;
  Group hosts_;
  const Group nobody_;
  bool named_ = false;                          // a host has a rank or a label
  std::map<RankAndLabel, Group> groups_;        // of hosts; rank -1 and "" stand for any
  std::map<RankAndLabel, uint32_t> strangers_;  // processes of which there are devices alone
  uint32_t last_own_ = UINT32_MAX;              // the last pid that is its own process
  std::unordered_map<uint32_t, std::vector<const ChromeRow*>> device_rows_;  // by pid
  uint32_t main_ = UINT32_MAX;
  size_t launching_ = 0;
  // The first of each correlation and pid, in that order; only where several launch.
  std::vector<Launch> launches_;
  bool found_launches_ = false;
};

}  // namespace crosscut::import
