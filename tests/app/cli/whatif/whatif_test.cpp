// sluice whatif: its output and exit status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/core/recordings/replayed_program.hpp"
#include "tests/programs.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

program_result whatif(const std::string& arguments) {
  return run_shell(SLUICE_BINARY_DIR "/sluice whatif " + arguments);
}

const std::string graphed = SLUICE_SOURCE_DIR "/tests/data/trainings/graphed.sluice";

TEST(whatif, results_for_the_usual_policies) {
  const program_result output = whatif(graphed + " --format json");
  ASSERT_EQ(output.status, 0);
  const auto parse = nlohmann::json::parse(output.out);
  ASSERT_EQ(parse["policies"].size(), 10U) << "the usual settings, and empty_cache, since the recording has steps";
  EXPECT_EQ(parse["policies"][9]["policy"], "empty_cache:step");
  EXPECT_EQ(parse["policies"][9]["reserved_at_failure_bytes"], nullptr);
  EXPECT_EQ(parse["policies"][0]["policy"], "native");
  EXPECT_EQ(parse["policies"][0]["peak_reserved_bytes"], parse["recorded"][0]["peak_reserved_bytes"]);
  EXPECT_EQ(parse["native_error"]["segments"], 0);
  for (const auto& each : parse["policies"]) {
    EXPECT_GE(each["peak_reserved_bytes"], each["peak_allocated_bytes"]) << each["policy"];
    EXPECT_EQ(each["devices"][0]["device"], 0);
    EXPECT_EQ(each["devices"][0]["peak_reserved_bytes"], each["peak_reserved_bytes"]);
  }
}

TEST(whatif, takes_any_setting_of_pytorch) {
  const program_result output =
      whatif(graphed + " --policy expandable_segments:True,roundup_power2_divisions:8 --policy max_split_size_mb:77");
  ASSERT_EQ(output.status, 0);
  EXPECT_THAT(output.out, HasSubstr("expandable_segments:True,roundup_power2_divisions:8"));
  EXPECT_THAT(output.out, HasSubstr("max_split_size_mb:77"));
  EXPECT_THAT(output.out, Not(HasSubstr("best fit")));
  EXPECT_EQ(whatif(graphed + " --device 0").status, 0);
}

TEST(whatif, says_where_emptying_the_cache_changes_nothing) {
  const program_result output = whatif(graphed + " --policy empty_cache:failure");
  EXPECT_EQ(output.status, 0);
  EXPECT_NE(output.out.find("Note: no allocation failed: empty_cache:failure has no effect"), std::string::npos)
      << output.out;
  EXPECT_EQ(whatif(graphed + " --policy max_split_size_mb:77,empty_cache:step").out.find("Note: no steps"),
            std::string::npos);
}

TEST(whatif, says_in_a_line_what_is_wrong) {
  const program_result unknown = whatif(graphed + " --policy max_split:3");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no allocator setting is called \"max_split\""));
  EXPECT_EQ(whatif(graphed + " --policy max_split_size_mb:3").status, 2);
  EXPECT_EQ(whatif(graphed + " --device 7").status, 2);
  const program_result none = whatif(SLUICE_SOURCE_DIR "/tests/data/trainings/plain_cuda.sluice");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no PyTorch allocations"));
}

TEST(whatif, says_which_cached_segments_no_request_explains) {
  testing::recording recorded;
  recorded.standard_tables();
  trace::pool_row pool;
  pool.id = trace::pool_id{1};
  pool.layer = trace::layer::framework;
  recorded.writer().add(pool);
  const auto add = [&](std::uint64_t block, trace::layer layer, std::uint64_t bytes, std::uint64_t parent) {
    auto row = recorded.event<trace::alloc_event>(static_cast<trace::time_ns>(block));
    row.block = trace::block_id{block};
    row.parent = trace::block_id{parent};
    row.layer = layer;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.pool = pool.id;
    row.address = block << 40;
    row.bytes = bytes;
    recorded.writer().add(row);
  };
  add(1, trace::layer::driver, 20 * testing::mib, 0);
  add(2, trace::layer::framework, 8 * testing::mib, 1);
  add(3, trace::layer::driver, 50 * testing::mib, 0);
  recorded.close();
  const std::string said = whatif(recorded.path() + " --policy native").out;
  EXPECT_THAT(said, HasSubstr("Recorded: peak 70.0 MiB reserved"));
  EXPECT_THAT(said, HasSubstr("Note: 1 segment of 50.0 MiB had no blocks during the recording"));
  EXPECT_THAT(said, Not(HasSubstr("the native model differs")));
  const auto parse = nlohmann::json::parse(whatif(recorded.path() + " --policy native --format json").out);
  EXPECT_EQ(parse["recorded"][0]["segments"], 2);
  EXPECT_EQ(parse["recorded"][0]["empty_segments"], 1);
}

// --- other batch sizes ------------------------------------------------------------------------------------------------

/// Recordings of trainings with these batch sizes, as files.
class trainings {
 public:
  trainings(std::initializer_list<std::uint64_t> batches) {
    for (const std::uint64_t batch : batches) {
      all_.push_back(std::make_unique<testing::recording>());
      testing::replayed_program program(*all_.back());
      testing::train(program, batch);
      all_.back()->close();
      peaks_.push_back(program.allocator().peak);
    }
  }
  [[nodiscard]] const std::string& path(std::size_t at) const { return all_[at]->path(); }
  [[nodiscard]] std::uint64_t peak(std::size_t at) const { return peaks_[at]; }

 private:
  std::vector<std::unique_ptr<testing::recording>> all_;
  std::vector<std::uint64_t> peaks_;
};

nlohmann::json asked(const std::string& arguments) {
  const program_result output = whatif(arguments + " --format json");
  EXPECT_EQ(output.status, 0) << whatif(arguments).err;
  return nlohmann::json::parse(output.out, nullptr, false);
}

TEST(whatif_batch, of_two_recordings_is_foretold_exactly_where_all_blocks_keep_a_law) {
  const trainings subject{16, 32, 64};
  const auto whole = asked(subject.path(0) + "@16 " + subject.path(1) + "@32 --batch 4x --policy native");
  EXPECT_EQ(whole["policies"][0]["peak_reserved_bytes"], subject.peak(2));
  EXPECT_EQ(whole["policies"][0]["fits"], true);
  EXPECT_EQ(whole["batch"]["from"], 16);
  EXPECT_EQ(whole["batch"]["to"], 64);
  EXPECT_EQ(whole["batch"]["law"], "block");
  EXPECT_EQ(whole["batch"]["error"], 0.0);
  ASSERT_EQ(whole["batch"]["checks"].size(), 1U);
  EXPECT_EQ(whole["batch"]["checks"][0]["recorded_reserved_bytes"], subject.peak(1));
}

TEST(whatif_batch, sizes_follow_from_the_input_blocks) {
  const trainings subject{16, 32, 64};
  const auto whole = asked(subject.path(0) + " " + subject.path(1) + " --batch 4 --policy native");
  EXPECT_EQ(whole["policies"][0]["peak_reserved_bytes"], subject.peak(2));
  EXPECT_EQ(whole["batch"]["from"], nullptr);
  EXPECT_EQ(whole["batch"]["checks"][0]["batch"], 2.0);
}

TEST(whatif_batch, leaves_each_of_three_recordings_out_to_know_its_error) {
  const trainings subject{16, 32, 64};
  const auto whole =
      asked(subject.path(0) + "@16 " + subject.path(1) + "@32 " + subject.path(2) + "@64 --batch 0.5x --policy native");
  EXPECT_EQ(whole["batch"]["left_out"], true);
  EXPECT_EQ(whole["batch"]["checks"].size(), 2U);
  EXPECT_EQ(whole["batch"]["error"], 0.0);
}

TEST(whatif_batch, of_one_recording_says_what_it_assumes) {
  const trainings subject{16};
  const auto whole = asked(subject.path(0) + " --batch 2x --policy native");
  EXPECT_EQ(whole["batch"]["law"], "assumed");
  EXPECT_EQ(whole["batch"]["error"], nullptr);
  for (const auto& each : whole["batch"]["categories"]) {
    const bool stays = each["category"] == "weight" || each["category"] == "gradient";
    EXPECT_EQ(each["foretold_bytes"], each["recorded_bytes"].get<std::uint64_t>() * (stays ? 1 : 2))
        << each["category"];
  }
  EXPECT_THAT(whatif(subject.path(0) + " --batch 2x").out, HasSubstr("The error is unknown."));
}

TEST(whatif_batch, of_sizes_beyond_all_memory_is_the_largest_number) {
  testing::recording recorded;
  recorded.standard_tables();
  for (std::uint64_t block = 1; block <= 3; ++block)
    recorded.add_alloc(static_cast<trace::time_ns>(block) * testing::ms, block, std::uint64_t{1} << 53,
                       trace::memory_kind::device, trace::layer::framework);
  recorded.close();
  const auto whole = asked(recorded.path() + " --batch 900000x");
  ASSERT_FALSE(whole["batch"]["categories"].empty());
  for (const auto& each : whole["batch"]["categories"])
    EXPECT_GE(each["foretold_bytes"].get<std::int64_t>(), each["recorded_bytes"].get<std::int64_t>()) << each;
}

TEST(whatif_batch, says_whether_it_fits) {
  const trainings subject{16, 32};
  const std::string files = subject.path(0) + "@16 " + subject.path(1) + "@32 ";
  EXPECT_EQ(asked(files + "--batch 4x --memory 100MiB")["policies"][0]["fits"], false);
  EXPECT_EQ(asked(files + "--batch 4x --memory 1GiB")["policies"][0]["fits"], true);
  EXPECT_THAT(whatif(files + "--batch 4x --memory 100MiB").out, HasSubstr("It does not fit under native"));
  EXPECT_THAT(whatif(files + "--batch 4x").out, HasSubstr("It fits under native"));
}

TEST(whatif_batch, says_in_a_line_what_is_wrong) {
  const trainings subject{16, 16};
  EXPECT_THAT(whatif(subject.path(0) + " --batch cow").err, HasSubstr("invalid batch scale 'cow'"));
  EXPECT_EQ(whatif(subject.path(0) + " --batch 0x").status, 2);
  EXPECT_THAT(whatif(subject.path(0) + " " + subject.path(1) + " --batch 2x").err, HasSubstr("the same batch size"));
  EXPECT_THAT(whatif(subject.path(0) + " " + subject.path(1)).err, HasSubstr("require --batch"));
  EXPECT_THAT(whatif(subject.path(0) + " " + subject.path(1) + "@32 --batch 2x").err, HasSubstr("as FILE@N"));
  EXPECT_EQ(whatif(subject.path(0) + " --memory 1GiB").status, 2);
}

}  // namespace
}  // namespace sluice
