#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Fuzz targets. A target is a function that takes bytes and must return normally for any input. Under libFuzzer each
/// target is one program; fuzz_test.cpp runs all targets on their seeds and on mutations of those seeds.
/// Each target has its own namespace for its helpers.
namespace sluice::fuzz {

using bytes = std::vector<std::uint8_t>;

struct target {
  std::string name;  ///< Also its folder under tests/fuzz/corpus, which contains inputs that once failed.
  void (*run)(std::span<const std::uint8_t> input);
  std::vector<bytes> (*seeds)();  ///< Valid inputs to start from, produced by the code that writes them.
};

target trace_file_target();
target trace_codec_target();
target ring_records_target();
target digest_target();
target summaries_target();
target eh_frame_target();
target chrome_json_target();
target nsys_sqlite_target();
target rmm_csv_target();
target torch_snapshot_target();
target torch_forms_target();
target xla_files_target();
target rocm_files_target();
target pickle_target();
target gz_input_target();
target live_file_target();
target mcp_target();
target notes_target();
target symbol_file_target();
target sql_text_target();
target socket_messages_target();
target settings_target();
target options_text_target();
target remote_frames_target();
target remote_rows_target();
target whatif_target();
target redaction_target();

}  // namespace sluice::fuzz
