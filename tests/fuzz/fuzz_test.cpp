// Runs every target on its seeds, on inputs that once failed, and on mutations of both. The mutations are the same in
// every run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "core/trace/file/chunk_pages.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz {

/// Used by GoogleTest, which would otherwise print the bytes of the struct.
void PrintTo(const target& chosen, std::ostream* to) { *to << chosen.name; }

namespace {

constexpr int mutations_of_all_seeds = 2000;

std::vector<bytes> kept_inputs(const std::string& target_name) {
  std::vector<bytes> inputs;
  const std::filesystem::path folder = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/fuzz/corpus" / target_name;
  if (!std::filesystem::is_directory(folder)) return inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// Applies one to four changes: a bit, a byte, a word with a special value, a truncation, or a repeated piece.
bytes mutated(bytes input, std::mt19937_64& random) {
  static constexpr std::uint32_t telling[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
  for (auto changes = 1 + random() % 4; changes > 0 && !input.empty(); --changes) {
    const std::size_t at = random() % input.size();
    switch (random() % 6) {
      case 0:
        input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << (random() % 8)));
        break;
      case 1:
        input[at] = static_cast<std::uint8_t>(random());
        break;
      case 2: {
        const std::uint32_t word = telling[random() % std::size(telling)];
        for (std::size_t i = 0; i < 4 && at + i < input.size(); ++i) {
          input[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
        }
        break;
      }
      case 3:
        input.resize(at);
        break;
      case 4: {
        const bytes piece(input.begin() + static_cast<std::ptrdiff_t>(at),
                          input.begin() + static_cast<std::ptrdiff_t>(std::min(input.size(), at + random() % 64)));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
        break;
      }
      default:
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                    input.begin() + static_cast<std::ptrdiff_t>(std::min(input.size(), at + random() % 16)));
        break;
    }
  }
  return input;
}

class fuzz_target : public ::testing::TestWithParam<target> {};

TEST_P(fuzz_target, comes_back_from_every_input) {
  const target& fuzzed = GetParam();
  auto inputs = fuzzed.seeds();
  ASSERT_FALSE(inputs.empty());
  for (auto& kept : kept_inputs(fuzzed.name)) inputs.push_back(std::move(kept));
  fuzzed.run({});
  for (const auto& input : inputs) fuzzed.run(input);
  std::mt19937_64 random(2026);
  for (int i = 0; i < mutations_of_all_seeds; ++i) fuzzed.run(mutated(inputs[random() % inputs.size()], random));
}

// The code that makes the paged seeds must keep producing files that readers accept as paged.
TEST(seeds, have_an_index_in_pages) {
  for (const target& fuzzed : {trace_file_target(), summaries_target()}) {
    const std::vector<bytes> inputs = fuzzed.seeds();
    const memory_file whole(inputs.front()), paged(inputs.back());
    const trace::chunk_source source(trace::open_local_source(paged.path()).value());
    const auto pages = trace::chunk_pages::open(source, inputs.back().size());
    ASSERT_NE(pages, nullptr) << fuzzed.name;
    EXPECT_GT(pages->pages().size(), 1U) << fuzzed.name;
    const auto plain = trace::file::open(whole.path()).value()->latest();
    const auto read = trace::file::open(paged.path()).value()->latest();
    EXPECT_EQ(read->chunk_count(), plain->chunk_count()) << fuzzed.name;
    EXPECT_EQ(read->summaries().size(), plain->summaries().size()) << fuzzed.name;
    EXPECT_TRUE(read->warnings().empty()) << fuzzed.name;
  }
}

INSTANTIATE_TEST_SUITE_P(all, fuzz_target,
                         ::testing::Values(trace_file_target(), trace_codec_target(), ring_records_target(),
                                           digest_target(), summaries_target(), eh_frame_target(), chrome_json_target(),
                                           nsys_sqlite_target(), rmm_csv_target(), torch_snapshot_target(),
                                           pickle_target(), gz_input_target(), live_file_target(), mcp_target(),
                                           symbol_file_target(), sql_text_target(), socket_messages_target(),
                                           settings_target(), options_text_target(), remote_rows_target(),
                                           remote_frames_target(), notes_target(), redaction_target(),
                                           torch_forms_target(), xla_files_target(), rocm_files_target(),
                                           whatif_target()),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace sluice::fuzz
