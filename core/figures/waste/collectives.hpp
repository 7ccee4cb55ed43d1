#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/ids.hpp"

/// Which kernels of NCCL on different ranks were one collective, and how long each rank waited in it.
namespace sluice::analysis {

/// What a rank ran of a collective: one kernel.
struct collective_part {
  trace::process_id process{};
  trace::stream_id stream{};
  time_range when;
};

/// Matches kernels of one name on different ranks. The members of a collective are in it at the same time, and leave it
/// together. A rank may belong to several groups that run collectives of one name: tensor, pipeline and data parallel
/// groups. A recording says nothing of groups, but each has its own stream on a rank, as a rule; so streams of different
/// ranks belong to one group if their kernels of this name end together again and again. Kernels of a stream that fits no
/// other are not matched. Sends and receives meet another rank each time: those that end together belong together.
class collective_matcher {
 public:
  /// Called for each kernel of a collective of several ranks, with the time beyond the shortest of these kernels.
  using take_wait = std::function<void(trace::process_id process, time_ns waited)>;

  /// `ranks`: processes with a rank.
  explicit collective_matcher(std::size_t ranks) : ranks_(ranks) {}

  /// Adds the kernels of one name that begin in a section, which ends at `end`. `sends`: they are sends and receives.
  /// Sections come in order of time. O(kernels * log).
  void add(trace::string_id name, bool sends, std::vector<collective_part> parts, time_ns end, const take_wait& waited);
  /// Call once, after the last `add`.
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
  /// Numbers of groups. Streams of which too little is known, all in all, are taken for one group.
  static constexpr std::size_t fits_none = 0, too_few = 1;
  /// Of one name.
  struct kernels {
    std::map<lane, std::size_t> groups;
    std::size_t numbers = too_few;      ///< The highest number of a group.
    std::vector<collective_part> open;  ///< What kernels of the next section may join, and what has no group yet.
    std::uint64_t count = 0;
    std::uint64_t looked = 0;  ///< The count when groups were last told apart.
    bool sends = false;
  };
  /// With two ranks there is nothing to tell apart.
  [[nodiscard]] bool tells_groups_apart(const kernels& of) const { return ranks_ > 2 && !of.sends; }
  /// Puts the streams of `of.open` in groups. `last`: all of them, however little is known.
  static void learn(kernels& of, bool last);
  void match(kernels& of, time_ns end, const take_wait& waited);
  static void match_group(std::vector<collective_part> all, time_ns end, std::vector<collective_part>& open,
                          const take_wait& waited);
  static void match_sends(time_ns end, std::vector<collective_part>& open, const take_wait& waited);
  static void count_waits(const collective_part* first, const collective_part* last, const take_wait& waited);

  std::size_t ranks_;
  std::map<trace::string_id, kernels> names_;
};

}  // namespace sluice::analysis
