#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/cli/options/range_option.hpp"
#include "app/cli/report/report_output.hpp"
#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/make_report.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/stacks.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/programs.hpp"

namespace sluice::cli {
namespace {

using testing::gib;
using ::testing::HasSubstr;
using testing::indexed;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

/// Records a training that has something for every part of a report.
void tell_a_training(recording& recorded) {
  recorded.standard_tables();
  trace::pool_row pool;
  pool.id = trace::pool_id{1};
  pool.device = trace::device_id{1};
  pool.name = recorded.text("default pool");
  recorded.writer().add(pool);
  recorded.add_alloc(1 * ms, 1, 4 * gib);
  recorded.add_alloc(2 * ms, 2, 1 * gib, memory_kind::device, layer::driver, "cuMemAllocPitch_v2");
  recorded.add_alloc(3 * ms, 3, 512 * mib, memory_kind::pinned, layer::driver, "cuMemHostAlloc");
  recorded.add_alloc(4 * ms, 4, 3 * gib, memory_kind::device, layer::framework, "optimizer state");
  recorded.add_free(700 * ms, 1);
  recorded.add_free(701 * ms, 3);
  recorded.add_free(699 * ms, 4, layer::framework);
  for (int i = 0; i < 4; ++i) {
    const trace::time_ns begin = i * 150 * ms + 10 * ms;
    recorded.add_copy(begin, begin + 20 * ms, 200'000'000, direction::h2d, memory_kind::host);
    recorded.add_copy(begin + 25 * ms, begin + 35 * ms, 500'000'000);
    recorded.add_kernel(begin + 30 * ms, begin + 90 * ms, "_Z4gemmPfi");
    recorded.add_kernel(begin + 90 * ms, begin + 95 * ms, "relu");
    recorded.add_copy(begin + 95 * ms, begin + 100 * ms, 100'000'000, direction::d2h);
    recorded.add_call(begin - 1 * ms, begin, "cuLaunchKernel");
    recorded.add_call(begin + 1 * ms, begin + 100 * ms, "cuStreamSynchronize");
    recorded.add_device_memory(begin, 134 * gib, 140 * gib, 14 * mib);
    auto state = recorded.event<trace::pool_event>(begin);
    state.pool = pool.id;
    state.reserved = 256 * mib;
    state.used = static_cast<std::uint64_t>(i) * 32 * mib;
    recorded.writer().add(state);
    auto step = recorded.event<trace::host_range_event>(begin);
    step.end = begin + 100 * ms;
    step.name = recorded.text("step");
    recorded.writer().add(step);
  }
  auto failed = recorded.event<trace::alloc_failed_event>(650 * ms);
  failed.bytes = 200 * gib;
  failed.error = 2;
  failed.kind = memory_kind::device;
  failed.name = recorded.text("cuMemAlloc_v2");
  recorded.writer().add(failed);
}

void gather_members(const nlohmann::json& value, std::set<std::string>& into) {
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) {
      into.insert(key);
      gather_members(child, into);
    }
  } else if (value.is_array()) {
    for (const auto& child : value) gather_members(child, into);
  }
}

class report : public ::testing::Test {
 protected:
  void SetUp() override {
    tell_a_training(made_);
    made_.close();
    all_.emplace(made_.open());
  }
  metrics::report summary(std::optional<time_range> range = std::nullopt) {
    metrics::report whole_report = metrics::make_report(all_->index, *all_->snapshot, range);
    whole_report.file_bytes = 4321;  // The real size depends on the compressor's version.
    return whole_report;
  }

  /// Compares `text` with the golden file `name`. With SLUICE_WRITE_GOLDEN=1, writes the file instead.
  static void expect_golden(const std::string& text, const std::string& name) {
    const std::string path = std::string(SLUICE_SOURCE_DIR) + "/tests/app/cli/report/golden/" + name;
    if (std::getenv("SLUICE_WRITE_GOLDEN") != nullptr) {
      std::ofstream(path) << text;
      return;
    }
    std::ifstream in(path);
    std::stringstream wanted;
    wanted << in.rdbuf();
    EXPECT_EQ(text, wanted.str())
        << "if the change is intended, run again with SLUICE_WRITE_GOLDEN=1 and review the diff";
  }

  void expect_described(const metrics::report& whole_report) {
    std::set<std::string> members;
    gather_members(nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"})),
                   members);
    EXPECT_GT(members.size(), 80U);
    std::ifstream in(std::string(SLUICE_SOURCE_DIR) + "/app/cli/report_schema.md");
    std::stringstream text;
    text << in.rdbuf();
    const std::string described = text.str();
    for (const std::string& member : members) {
      EXPECT_TRUE(described.find("`" + member + "`") != std::string::npos) << member << " is not in report_schema.md";
    }
  }

  recording made_;
  std::optional<indexed> all_;
};

TEST_F(report, prints_text) {
  const metrics::report whole_report = summary();
  expect_golden(report_text({whole_report, all_->snapshot->tables(), "train.sluice"}), "report.txt");
}

TEST_F(report, prints_json) {
  const metrics::report whole_report = summary();
  expect_golden(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}), "report.json");
}

/// Expects the same text and JSON from the events and from the stored metrics.
void expect_same_report(const std::shared_ptr<trace::file>& file) {
  const indexed loaded(file);
  const auto kept = summary::encode_stored_metrics(summary::make_stored_metrics(loaded.index, *loaded.snapshot));
  ASSERT_TRUE(kept);
  symbols::frame_cache book(symbols::options_for(*loaded.snapshot));
  const metrics::report from_index = metrics::make_report(loaded.index, *loaded.snapshot);
  const metrics::report from_stored_metrics =
      metrics::make_report(summary::decode_stored_metrics(*kept).value().metrics, *loaded.snapshot, {book});
  const report_subject one{from_index, loaded.snapshot->tables(), "file"};
  const report_subject other{from_stored_metrics, loaded.snapshot->tables(), "file"};
  EXPECT_EQ(report_text(one), report_text(other));
  EXPECT_EQ(report_json(one), report_json(other));
}

TEST_F(report, is_the_same_from_a_stored_metrics) {
  expect_same_report(made_.open());
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/assets/recordings")) {
    if (entry.path().extension() != ".sluice") continue;
    SCOPED_TRACE(entry.path().string());
    expect_same_report(trace::file::open(entry.path().string()).value());
  }
}

TEST_F(report, prints_a_range) {
  const metrics::report whole_report = summary(time_range{0, 100 * ms});
  expect_golden(report_text({whole_report, all_->snapshot->tables(), "train.sluice"}), "report_range.txt");
}

/// Fixture with a training whose events have call stacks.
class report_of_stacks : public report {
 protected:
  trace::stack_id call(trace::stack_id caller, std::string_view function, std::string_view file, std::uint64_t line) {
    trace::frame_row frame;
    frame.id = trace::frame_id{++last_};
    frame.kind = trace::frame_kind::python;
    frame.function = reported_.text(function);
    frame.file = reported_.text(file);
    frame.line = line;
    reported_.writer().add(frame);
    reported_.writer().add(trace::stack_row{trace::stack_id{last_}, caller, frame.id});
    return trace::stack_id{last_};
  }
  void alloc(trace::time_ns time, std::uint64_t bytes, trace::stack_id by) {
    auto row = reported_.event<trace::alloc_event>(time);
    row.block = trace::block_id{++last_};
    row.bytes = bytes;
    row.kind = memory_kind::device;
    row.layer = layer::framework;
    row.device = trace::device_id{1};
    row.stack = by;
    reported_.writer().add(row);
  }
  void copy(trace::time_ns begin, trace::time_ns end, std::uint64_t bytes, trace::stack_id by) {
    auto asked = reported_.event<trace::api_call_event>(begin);
    asked.id = reported_.writer().next_event();
    asked.name = reported_.text("cuMemcpyHtoDAsync_v2");
    asked.end = begin + 1000;
    asked.stack = by;
    reported_.writer().add(asked);
    auto row = reported_.event<trace::transfer_event>(begin);
    row.end = end;
    row.bytes = bytes;
    row.direction = direction::h2d;
    row.source_kind = memory_kind::host;
    row.destination_kind = memory_kind::device;
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    row.call = asked.id;
    reported_.writer().add(row);
  }
  void SetUp() override {
    reported_.standard_tables();
    trace::source_row source;
    source.id = trace::source_id{1};
    source.file = reported_.text("/home/me/train.py");
    source.first_line = 38;
    source.text =
        reported_.text("def step(batch):\n    x = batch.to(device)\n    loss = model(x).sum()\n    loss.backward()\n");
    reported_.writer().add(source);
    const auto main = call({}, "<module>", "/home/me/train.py", 90);
    const auto build = call(main, "build", "/home/me/train.py", 12);
    const auto step = call(main, "step", "/home/me/train.py", 40);
    const std::string torch = "/home/me/venv/lib/python3.12/site-packages/torch/";
    const auto linear = call(call(step, "Module._call_impl", torch + "nn/modules/module.py", 1784), "Linear.forward",
                             torch + "nn/modules/linear.py", 134);
    const auto relu = call(step, "relu", torch + "nn/functional.py", 1701);
    alloc(1 * ms, 2 * gib, build);
    alloc(2 * ms, 3 * gib, linear);
    alloc(3 * ms, 1 * gib, relu);
    alloc(4 * ms, 64 * mib, {});
    alloc(5 * ms, 512 * mib, call(call(linear, "[inferred: the backward of]", "", 0), "AddmmBackward0", "", 0));
    const auto load = call(main, "step", "/home/me/train.py", 39);
    const auto prefetch = call(main, "prefetch", "/home/me/data.py", 30);
    copy(10 * ms, 40 * ms, 300 * mib, load);
    copy(50 * ms, 90 * ms, 900 * mib, prefetch);
    copy(95 * ms, 97 * ms, 1 * mib, {});
    reported_.add_kernel(45 * ms, 92 * ms);
    reported_.close();
    all_.emplace(reported_.open());
  }
  recording reported_;
  std::uint64_t last_ = 0;
};

TEST_F(report_of_stacks, names_the_line_that_holds_the_memory_and_the_copy_that_the_device_waits_for) {
  const metrics::report whole_report = summary();
  expect_golden(report_text({whole_report, all_->snapshot->tables(), "train.sluice"}), "report_stacks.txt");
}

TEST_F(report_of_stacks, holds_whole_stacks_in_json) {
  const metrics::report whole_report = summary();
  const auto json = nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}));
  const auto& memory = json["memory"].at(0)["by_line_at_maximum"];
  const auto& first = memory["lines"].at(0);
  EXPECT_EQ(first["bytes"], 4 * gib + 512 * mib) << "the blocks of line 40, whatever framework frames are below it";
  EXPECT_EQ(first["blocks"], 3);
  EXPECT_EQ(first["inferred"]["bytes"], 512 * mib);
  EXPECT_EQ(memory["lines"].at(1)["inferred"]["blocks"], 0);
  EXPECT_EQ(first["frame"]["line"], 40);
  EXPECT_EQ(first["frame"]["source"], "loss = model(x).sum()");
  EXPECT_EQ(first["of_that_stack"]["bytes"], 3 * gib);
  ASSERT_EQ(first["stack"].size(), 4U);
  EXPECT_EQ(first["stack"][0]["function"], "Linear.forward");
  EXPECT_EQ(first["stack"][0]["own"], false);
  EXPECT_EQ(first["stack"][3]["function"], "<module>");
  EXPECT_EQ(memory["without_stack"]["bytes"], 64 * mib);
  const auto& copies = json["transfers"].at(0)["by_line"];
  EXPECT_EQ(copies["lines"].at(0)["frame"]["line"], 39);
  EXPECT_EQ(copies["lines"].at(0)["alone_ns"], 30 * ms);
  EXPECT_EQ(copies["lines"].at(1)["alone_ns"], 0);
  EXPECT_EQ(copies["lines"].at(1)["busy_ns"], 40 * ms);
  EXPECT_EQ(copies["without_stack"]["count"], 1);
}

TEST_F(report_of_stacks, says_by_what_it_groups_the_memory) {
  const metrics::report whole_report = summary();
  expect_described(whole_report);
  const auto json = nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}));
  const auto& asked = json["memory"].at(0)["asked_by_at_maximum"];
  EXPECT_EQ(asked["by"], "module");
  EXPECT_EQ(asked["chosen"], "most even");
  EXPECT_EQ(asked["largest_group_bytes"]["line"], 4 * gib + 512 * mib);
  EXPECT_EQ(asked["largest_group_bytes"]["module"], 3 * gib + 512 * mib);
  EXPECT_EQ(asked["lines"].at(0)["frame"]["function"], "Linear.forward");
}

TEST_F(report_of_stacks, groups_by_what_the_reader_chose) {
  const auto text_by = [&](symbols::attribution by) {
    symbols::frame_cache book;
    const metrics::report whole_report =
        metrics::make_report(all_->index, *all_->snapshot, std::nullopt, metrics::naming{.book = book, .by = by});
    return report_text({whole_report, all_->snapshot->tables(), "train.sluice"});
  };
  EXPECT_THAT(text_by(symbols::attribution::line), HasSubstr("4.50 GiB  69 %  3 blocks  me/train.py:40, step"));
  EXPECT_THAT(text_by(symbols::attribution::caller), HasSubstr("6.50 GiB  99 %  4 blocks  me/train.py:90, <module>"));
  EXPECT_THAT(text_by(symbols::attribution::package), HasSubstr("6.50 GiB  99 %  4 blocks  the program"));
  EXPECT_THAT(text_by(symbols::attribution::owner), HasSubstr("(library not recorded)"));
}

TEST_F(report_of_stacks, says_first_for_which_line_the_device_waited) {
  const metrics::report whole_report = summary(time_range{0, 48 * ms});
  EXPECT_THAT(report_text({whole_report, all_->snapshot->tables(), "train.sluice"}),
              HasSubstr("The longest wait was for the copies of me/train.py:39 (step): 30.0 ms."));
}

TEST_F(report, compares_ranks_in_a_table) {
  metrics::report whole_report = summary();
  metrics::rank_metrics rank;
  rank.process = trace::process_id{1};
  rank.device = trace::device_id{1};
  rank.layer = layer::framework;
  rank.kind = memory_kind::device;
  rank.peak = 4 * gib;
  rank.peak_time = 30 * ms;
  rank.reserved = 6 * gib;
  rank.median_step = 120 * ms;
  rank.computing = 900 * ms;
  rank.collectives = 10;
  rank.collective_time = 50 * ms;
  rank.waiting = 40 * ms;
  rank.shares = {{index::category::activation, 3 * gib, 10, 0}, {index::category::weight, 1 * gib, 5, 0}};
  rank.held = {{trace::stack_id{}, 3 * gib, index::category::activation, 10}};
  rank.kernels = {{trace::string_id{1}, 90 * ms}};
  whole_report.waste.ranks = {rank, rank};
  whole_report.waste.ranks[1].rank = 1;
  whole_report.waste.ranks[1].collectives = 0;
  const std::string text = report_text({whole_report, all_->snapshot->tables(), "train.sluice"});
  EXPECT_THAT(text, HasSubstr("\nRanks (waits:"));
  EXPECT_THAT(text, HasSubstr("framework tensors  4.00 GiB"));
  EXPECT_THAT(text, HasSubstr("40.0 ms        0 ns     0 ns  activation 75 %, weight 25 %"));
  EXPECT_THAT(text, HasSubstr("-  activation 75 %")) << "without collectives, the waiting time is unknown";
  const auto json = nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}));
  EXPECT_EQ(json["ranks"].at(1)["rank"], 1);
  EXPECT_EQ(json["ranks"].at(0)["waiting_ns"], 40 * ms);
  EXPECT_EQ(json["ranks"].at(0)["shares"].at(1)["category"], "weight");
  EXPECT_EQ(json["ranks"].at(0)["kernels"].at(0)["total_ns"], 90 * ms);
  expect_described(whole_report);
}

TEST_F(report, says_whose_memory_was_imported) {
  metrics::report whole_report = summary();
  index::imported_memory had;
  had.process = had.owner = trace::process_id{1};
  had.kind = memory_kind::device;
  had.blocks = 2;
  had.bytes = 3 * gib;
  whole_report.imports = {had, had};
  whole_report.imports[1].owner = trace::process_id::none;
  whole_report.imports[1].bytes = 0;
  const std::string text = report_text({whole_report, all_->snapshot->tables(), "train.sluice"});
  EXPECT_THAT(text, HasSubstr("Memory of other processes (counted with its owner)\n"
                              "  2 blocks  3.00 GiB  CUDA allocations  in python (42)  of python (42)\n"));
  EXPECT_THAT(text, HasSubstr("in python (42)  of an unknown process\n"));
  const auto json = nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}));
  EXPECT_EQ(json["imports"].at(0)["owner"], 1);
  EXPECT_EQ(json["imports"].at(1)["owner"], nullptr);
}

/// Fixture with a training that copies the same table repeatedly.
class report_of_duplicates : public report_of_stacks {
 protected:
  void repeat(trace::time_ns begin, std::uint64_t hash, trace::content_check check, trace::stack_id by) {
    auto asked = again_.event<trace::api_call_event>(begin);
    asked.id = again_.writer().next_event();
    asked.end = begin + 1000;
    asked.stack = by;
    again_.writer().add(asked);
    auto row = again_.event<trace::transfer_event>(begin);
    row.end = begin + 2 * ms;
    row.bytes = 64 * mib;
    row.direction = direction::h2d;
    row.source_kind = memory_kind::pinned;
    row.destination_kind = memory_kind::device;
    row.source_address = 0x1000;
    row.device = trace::device_id{1};
    row.call = asked.id;
    row.content = check;
    row.content_hash = hash;
    row.content_bytes = check == trace::content_check::sampled ? 16384 : 0;
    again_.writer().add(row);
  }
  void SetUp() override {
    using enum trace::content_check;
    again_.standard_tables();
    trace::frame_row frame;
    frame.id = trace::frame_id{1};
    frame.kind = trace::frame_kind::python;
    frame.function = again_.text("step");
    frame.file = again_.text("/home/me/train.py");
    frame.line = 39;
    again_.writer().add(frame);
    again_.writer().add(trace::stack_row{trace::stack_id{1}, {}, frame.id});
    for (int i = 0; i < 5; ++i) repeat(i * 10 * ms, 7, sampled, trace::stack_id{1});
    repeat(60 * ms, 8, sampled, trace::stack_id{1});
    repeat(70 * ms, 0, over_budget, trace::stack_id{1});
    repeat(80 * ms, 0, unreadable, {});
    repeat(90 * ms, 8, sampled, {});
    again_.close();
    all_.emplace(again_.open());
  }
  recording again_;
};

TEST_F(report_of_duplicates, names_the_line_and_says_how_it_is_known) {
  const metrics::report whole_report = summary();
  expect_golden(report_text({whole_report, all_->snapshot->tables(), "train.sluice"}), "report_duplicates.txt");
}

TEST_F(report_of_duplicates, has_the_same_metrics_in_json) {
  const metrics::report whole_report = summary();
  const auto json = nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}));
  const auto& found = json["duplicates"];
  EXPECT_EQ(found["sampled"]["count"], 7);
  EXPECT_EQ(found["over_budget"]["count"], 1);
  EXPECT_EQ(found["repeated"]["count"], 5);
  EXPECT_EQ(found["repeated"]["bytes"], 5 * 64 * mib);
  EXPECT_EQ(found["repeated"]["exact"]["count"], 0);
  EXPECT_EQ(found["by_line"]["lines"].at(0)["frame"]["line"], 39);
  EXPECT_EQ(found["by_line"]["lines"].at(0)["same_source"]["busy_ns"], 8 * ms);
  EXPECT_EQ(found["by_line"]["without_stack"]["count"], 1);
  EXPECT_EQ(json["findings"].at(0)["kind"], "repeated_copies");
}

TEST_F(report_of_duplicates, has_every_member_of_its_json_described) { expect_described(summary()); }

TEST_F(report, has_no_duplicates_where_nobody_looked) {
  const metrics::report whole_report = summary();
  const auto json = nlohmann::json::parse(report_json({whole_report, all_->snapshot->tables(), "train.sluice"}));
  EXPECT_TRUE(json["duplicates"].is_null());
}

TEST_F(report_of_stacks, has_every_member_of_its_json_described) { expect_described(summary()); }

TEST_F(report, has_every_member_of_its_json_described) { expect_described(summary()); }

TEST_F(report, survives_names_that_are_no_utf8) {
  recording odd;
  odd.standard_tables();
  odd.add_kernel(0, 10, "bad \xff\xfe name");
  odd.close();
  const indexed loaded(odd.open());
  const metrics::report subject = metrics::make_report(loaded.index, *loaded.snapshot);
  EXPECT_TRUE(nlohmann::json::accept(report_json({subject, loaded.snapshot->tables(), "odd"})));
}

TEST(range, is_two_times_with_units) {
  const time_range whole{-5, 3'000'000'000};
  EXPECT_EQ(parse_range("1.5s:2s", whole).value(), (time_range{1'500'000'000, 2'000'000'000}));
  EXPECT_EQ(parse_range("200ms:", whole).value(), (time_range{200'000'000, 3'000'000'000}));
  EXPECT_EQ(parse_range(":10us", whole).value(), (time_range{-5, 10'000}));
  EXPECT_EQ(parse_range("1:2", whole).value(), (time_range{1'000'000'000, 2'000'000'000}));
  EXPECT_EQ(parse_range("-3ns:7ns", whole).value(), (time_range{-3, 7}));
  for (const char* wrong : {"", "1s", "2s:1s", "1s:1s", "a:b", "1s:2parsecs", "1e300s:2e300s", "nan:1s", "1s:2s:3s"}) {
    EXPECT_FALSE(parse_range(wrong, whole)) << wrong;
  }
}

// --- the program ----------------------------------------------------------------------------------------------------

/// Standard output and standard error of `sluice report`, together.
program_result run(const std::string& arguments) {
  return run_shell(SLUICE_BINARY_DIR "/sluice report " + arguments + " 2>&1");
}

class report_program : public ::testing::Test {
 protected:
  void SetUp() override {
    tell_a_training(made_);
    made_.close();
    std::ifstream in(made_.path(), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  void TearDown() override { std::filesystem::remove(other_); }
  const std::string& write_file(const std::string& bytes) {
    std::ofstream(other_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return other_;
  }
  static void expect_one_line(const program_result& subject, const std::string& part) {
    EXPECT_EQ(subject.status, 1);
    EXPECT_THAT(subject.out, HasSubstr(part));
    EXPECT_EQ(std::count(subject.out.begin(), subject.out.end(), '\n'), 1) << subject.out;
  }
  recording made_;
  std::string bytes_;
  std::string other_ = made_.path() + ".other";
};

TEST_F(report_program, prints_what_it_is_asked_for) {
  const program_result text = run(made_.path());
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_THAT(text.out, HasSubstr("Smaller findings"));
  const program_result json = run("--format json --range 0:100ms " + made_.path());
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(nlohmann::json::parse(json.out)["range"]["end_ns"], 100'000'000);
}

TEST_F(report_program, groups_memory_by_what_the_reader_chooses) {
  recording reported;
  reported.standard_tables();
  testing::stack_maker stack(reported);
  auto row = reported.event<trace::alloc_event>(1 * ms);
  row.block = trace::block_id{1};
  row.bytes = 1 * gib;
  row.kind = memory_kind::device;
  row.device = trace::device_id{1};
  row.stack = stack({testing::native("malloc", "/x/site-packages/nvidia/nccl/lib/libnccl.so.2"),
                     testing::python("MLP.forward", "/x/site-packages/transformers/gpt2.py", 5),
                     testing::python("<module>", "/home/me/train.py", 9)});
  reported.writer().add(row);
  reported.close();
  EXPECT_THAT(run("--by line " + reported.path()).out, HasSubstr("me/train.py:9, <module>"));
  EXPECT_THAT(run("--by module " + reported.path()).out, HasSubstr("MLP.forward"));
  EXPECT_THAT(run("--by package " + reported.path()).out, HasSubstr("transformers"));
  EXPECT_THAT(run("--by owner " + reported.path()).out, HasSubstr("NCCL"));
  EXPECT_NE(run("--by nobody " + reported.path()).status, 0);
}

TEST_F(report_program, takes_the_metrics_that_the_file_has_of_the_whole) {
  recording reported;
  tell_a_training(reported);
  reported.flush();
  const indexed loaded(reported.open());
  summary::stored_metrics stored_metrics = summary::make_stored_metrics(loaded.index, *loaded.snapshot);
  stored_metrics.metrics.blocks = 4711;  // This number occurs nowhere else in the report.
  const trace::saved_row kept = summary::saved_stored_metrics(stored_metrics).value();
  reported.writer().add_summary(std::span(&kept, 1));
  reported.close();
  EXPECT_EQ(nlohmann::json::parse(run("--format json " + reported.path()).out)["blocks"], 4711);
  EXPECT_NE(nlohmann::json::parse(run("--format json --range 0: " + reported.path()).out)["blocks"], 4711)
      << "for a range, the report uses the events";
}

TEST_F(report_program, says_in_one_line_what_is_wrong_with_a_file) {
  expect_one_line(run("/no/such/file"), "No such file");
  expect_one_line(run(write_file("")), "the file is empty");
  expect_one_line(run(write_file("#!/bin/sh\necho this is a script\n")), "not a Sluice recording");
  expect_one_line(run(write_file(bytes_.substr(0, 5))), "not a Sluice recording");
  trace::file_header newer{};
  std::memcpy(&newer, bytes_.data(), sizeof newer);
  newer.major = trace::format_major + 1;
  std::string of_tomorrow = bytes_;
  std::memcpy(of_tomorrow.data(), &newer, sizeof newer);
  expect_one_line(run(write_file(of_tomorrow)), "newer Sluice");
  expect_one_line(run("/"), "is not a regular file");
}

TEST_F(report_program, reports_what_a_cut_file_still_holds_and_warns) {
  const program_result cut = run(write_file(bytes_.substr(0, bytes_.size() * 2 / 3)));
  EXPECT_EQ(cut.status, 0) << cut.out;
  EXPECT_THAT(cut.out, HasSubstr("warning: "));
}

TEST_F(report_program, explains_kinds_of_findings) {
  const program_result one = run("--explain held_late");
  EXPECT_EQ(one.status, 0);
  EXPECT_EQ(one.out, metrics::to_text(*metrics::rule_named("held_late")) + "\n");
  const program_result whole = run("--explain");
  EXPECT_EQ(whole.status, 0);
  for (const metrics::finding_rule& each : metrics::finding_rules())
    EXPECT_THAT(whole.out, HasSubstr(metrics::to_text(each)));
}

TEST_F(report_program, explains_a_kind_with_the_findings_of_a_recording) {
  const program_result found = run(made_.path() + " --explain held_late");
  EXPECT_EQ(found.status, 0) << found.out;
  EXPECT_THAT(found.out, ::testing::StartsWith(metrics::to_text(*metrics::rule_named("held_late"))));
  EXPECT_THAT(found.out, HasSubstr("In this recording\n"));
  EXPECT_EQ(run("--explain held_late " + made_.path()).out, found.out) << "in either order";
  EXPECT_THAT(run(made_.path() + " --explain gpu_fault").out, HasSubstr("There is no such finding in "));
}

TEST_F(report_program, refuses_what_makes_no_sense) {
  const program_result unknown = run("--explain waiting_host");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.out, HasSubstr("no kind of finding named 'waiting_host'"));
  EXPECT_EQ(std::count(unknown.out.begin(), unknown.out.end(), '\n'), 1) << unknown.out;
  EXPECT_EQ(run("--explain held_late " + made_.path() + " extra").status, 2);
  EXPECT_EQ(run("--range 2s:1s " + made_.path()).status, 2);
  EXPECT_EQ(run("--format xml " + made_.path()).status, 2);
  EXPECT_EQ(run("").status, 2);
}

}  // namespace
}  // namespace sluice::cli
