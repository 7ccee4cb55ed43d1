#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/import/nsys/checks.hpp"
#include "core/import/nsys/places.hpp"
#include "core/import/nsys/tables.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports the host activity of an Nsight Systems export: NVTX ranges and counters, and system calls. Private to
/// core/import.
class nsys_ranges {
 public:
  nsys_ranges(trace::file_writer& out, nsys_places& places, nsys_checks& checks)
      : out_(out), places_(places), checks_(checks) {}

  void take_domain(const nsys::cells& row) { domains_[find_domain(row)] = to_text(row); }
  void take_nvtx(const nsys::cells& row);
  /// Adds a sample of a counter, which is a row of NVTX_EVENTS with a value.
  void take_counter(const nsys::cells& row);
  void take_system_call(const nsys::cells& row);

  /// Creates a range of one thread from the given columns of a row.
  [[nodiscard]] trace::host_range_event get_range(const nsys::cells& row, std::size_t thread, std::size_t begin,
                                                  std::size_t end);

 private:
  using domain_key = std::pair<std::uint64_t, std::int64_t>;  ///< A process and the domain's number in it.
  [[nodiscard]] static domain_key find_domain(const nsys::cells& row);
  [[nodiscard]] trace::string_id domain_name(const nsys::cells& row) const;
  [[nodiscard]] trace::string_id to_text(const nsys::cells& row);

  trace::file_writer& out_;
  nsys_places& places_;
  nsys_checks& checks_;
  std::map<domain_key, trace::string_id> domains_;
  std::map<std::tuple<trace::process_id, trace::string_id, trace::string_id>, trace::counter_id>
      counters_;  ///< Keyed by process, domain and name.
  trace::string_id system_calls_{};
};

}  // namespace sluice::importing
