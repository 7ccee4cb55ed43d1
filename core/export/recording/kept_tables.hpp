#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/base/id_set.hpp"
#include "core/export/recording/redact.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Selects the table rows that some of a trace's events need.
namespace sluice::exports {

/// Collects the table rows that events refer to, and all that these rows refer to; writes them with texts redacted.
class kept_tables {
 public:
  explicit kept_tables(const trace::tables& all) : all_(all) {}

  /// Call for each `row`, of an event or a table, that will be in the file.
  template <class Row>
  void keep(const Row& row);

  /// Adds what the kept table rows refer to: stacks' callers and frames, and so on. Call once, after all events.
  void close();

  /// Writes the kept rows. They keep their ids.
  void write(trace::file_writer& to, redactor& redact) const;

  /// An id that no text has.
  [[nodiscard]] trace::string_id free_string() const;

 private:
  void keep_text(trace::string_id id, text_role role);

  const trace::tables& all_;
  analysis::id_set hosts_, processes_, threads_, devices_, contexts_, streams_, pools_, counters_, stacks_, frames_,
      modules_, sources_;
  analysis::id_set done_hosts_, done_processes_, done_threads_, done_devices_, done_contexts_, done_streams_,
      done_pools_, done_counters_, done_stacks_, done_frames_, done_modules_, done_sources_;
  std::unordered_map<std::uint64_t, text_role> texts_;  ///< By string: its role that reveals most.
  analysis::id_set frame_files_, frame_modules_;
};

}  // namespace sluice::exports
