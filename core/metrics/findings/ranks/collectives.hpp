#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/ids.hpp"

/// Finds which NCCL kernels on different ranks belong to one collective, and how long each rank waited in it.
namespace sluice::metrics {

/// One rank's part in a collective: one NCCL kernel.
struct collective_part {
  trace::process_id process{};
  trace::stream_id stream{};
  trace::string_id name{};  ///< The kernel's name.
  time_range when;
  /// How long the rank's device had no work between the end of the rank's previous collective and `when.begin`.
  time_ns idle = 0;
};

/// One rank's wait in a collective in which several ranks take part.
struct collective_wait {
  trace::process_id process{};
  trace::process_id last{};  ///< The rank that the others waited for: its kernel is the shortest.
  time_ns length = 0;        ///< The kernel's duration in excess of that of `last`; 0 for `last` itself.
  /// The part of `length` for which the device of `last` had no work before the collective, in excess of that of
  /// `process`: its host was late. The rest is due to work that took longer.
  time_ns host_late = 0;
};

/// Matches kernels of the same name on different ranks. All members of a collective run their kernels at the same time,
/// and these kernels end together. A rank may belong to several groups that run collectives of the same name, such as
/// tensor, pipeline and data parallel groups. A recording does not name the groups, but on each rank, a group usually
/// has its own stream. Streams of different ranks are therefore put in one group if their kernels of the same name
/// repeatedly end together. Kernels on a stream that matches no other stream are not matched. Sends and receives have a
/// different peer each time, so these kernels are matched one by one if they end together.
class collective_matcher {
 public:
  /// Called for each kernel of a collective in which several ranks take part.
  using take_wait = std::function<void(const collective_wait& wait)>;

  /// `ranks`: the number of processes with a rank.
  explicit collective_matcher(std::size_t ranks) : ranks_(ranks) {}

  /// Adds the kernels of one name that begin in a section, which ends at `end`. `sends` is true for sends and receives.
  /// Sections must be added in order of time. O(kernels * log kernels).
  void add(trace::string_id name, bool sends, std::vector<collective_part> parts, time_ns end, const take_wait& waited);
  /// Matches the remaining kernels. Must be called once, after the last `add`.
  void finish(const take_wait& waited);

 private:
  struct lane {
    trace::process_id process{};
    trace::stream_id stream{};
    friend bool operator<(const lane& a, const lane& b) {
      return std::tie(a.process, a.stream) < std::tie(b.process, b.stream);
    }
  };
  using lanes = std::map<lane, std::vector<time_range>>;
  /// Special group numbers. `fits_none`: the stream matches no other stream. `too_few`: the stream has too few kernels
  /// to judge; all these streams form one group.
  static constexpr std::size_t fits_none = 0, too_few = 1;
  /// The state of all kernels of one name.
  struct kernels {
    std::map<lane, std::size_t> groups;
    std::size_t numbers = too_few;  ///< The highest group number.
    /// Kernels that may match kernels of the next section, or whose stream has no group yet.
    std::vector<collective_part> open;
    std::uint64_t count = 0;
    std::uint64_t looked = 0;  ///< The value of `count` when the groups were last determined.
    bool sends = false;
  };
  /// True if groups must be determined. With two ranks, there is only one group, and sends have no fixed group.
  [[nodiscard]] bool tells_groups_apart(const kernels& subject) const { return ranks_ > 2 && !subject.sends; }
  /// Assigns the streams of `of.open` to groups. If `last`, assigns even streams with few kernels.
  static void learn(kernels& subject, bool last);
  void match(kernels& subject, time_ns end, const take_wait& waited);
  static void match_group(std::vector<collective_part> items, time_ns end, std::vector<collective_part>& open,
                          const take_wait& waited);
  static void match_sends(time_ns end, std::vector<collective_part>& open, const take_wait& waited);
  static void count_waits(const collective_part* first, const collective_part* last, const take_wait& waited);

  std::size_t ranks_;
  std::map<trace::string_id, kernels> names_;
};

}  // namespace sluice::metrics
