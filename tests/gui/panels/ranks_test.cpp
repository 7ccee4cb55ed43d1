// The panel that compares ranks, in a real window.
#include <gtest/gtest.h>

#include <filesystem>

#include "app/gui/views/blocks.hpp"
#include "core/base/format.hpp"
#include "core/query/engine/engine.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/gui/panels/panel_rows.hpp"
#include "tests/gui/window_fixture.hpp"

namespace sluice::test {
namespace {

trace::process_row add_rank(testing::recording& to, std::uint64_t rank) {
  trace::process_row row;
  row.id = trace::process_id{10 + rank};
  row.pid = 100 + rank;
  row.rank = static_cast<std::int64_t>(rank);
  row.command = to.text("train.py");
  to.writer().add(row);
  return row;
}

trace::device_row add_device(testing::recording& to, std::uint64_t ordinal) {
  trace::device_row row;
  row.id = trace::device_id{20 + ordinal};
  row.uuid_low = 20 + ordinal;
  row.ordinal = static_cast<std::uint32_t>(ordinal);
  row.memory_bytes = 64 * testing::mib;
  to.writer().add(row);
  return row;
}

void add_block(testing::recording& to, const trace::process_row& process, const trace::device_row& device,
               trace::block_id block) {
  auto row = to.event<trace::alloc_event>(100'000);
  row.process = process.id;
  row.block = block;
  row.bytes = 8 * testing::mib;
  row.kind = trace::memory_kind::device;
  row.device = device.id;
  to.writer().add(row);
}

class ranks_panel : public window_test {
 protected:
  void open_panel(ImGuiTestContext& user) {
    open_sample(user);
    app().invoke("ranks.open");
    user.Yield(4);
    settle(user);
  }
  /// Opens a recording of `count` ranks with one device each. Rank 2 needs twice as much memory as the others, and its
  /// device works half as long as theirs.
  void open_ranks(ImGuiTestContext& user, std::uint64_t count = 4) {
    testing::recording recorded;
    recorded.standard_tables();
    for (std::uint64_t rank = 0; rank < count; ++rank) {
      const trace::process_row process = add_rank(recorded, rank);
      const trace::device_row device = add_device(recorded, rank);
      for (std::uint64_t i = 0; i < (rank == 2 ? 2U : 1U); ++i)
        add_block(recorded, process, device, trace::block_id{1 + rank * 10 + i});
      for (time_ns begin = 0; begin < 10'000'000; begin += 100'000) {
        auto kernel = recorded.event<trace::kernel_event>(begin);
        kernel.process = process.id;
        kernel.end = begin + (rank == 2 ? 50'000 : 99'000);
        kernel.device = device.id;
        kernel.stream = trace::stream_id{30 + rank};
        recorded.writer().add(kernel);
      }
    }
    recorded.close();
    std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    open_panel(user);
  }
  std::shared_ptr<const metrics::report> report() {
    return app().state().active()->engine->ask_now(query::report_query{}).value();
  }
};

TEST_F(ranks_panel, has_the_peaks_of_the_report) {
  use([&](ImGuiTestContext& user) {
    open_ranks(user);
    const std::string words = read(user);
    const auto whole = report();
    ASSERT_EQ(whole->waste.ranks.size(), 4U);
    for (const metrics::rank_metrics& each : whole->waste.ranks) {
      EXPECT_NE(words.find("Rank " + std::to_string(each.rank)), std::string::npos) << words;
      EXPECT_NE(words.find(format_bytes(each.peak)), std::string::npos);
    }
  });
}

TEST_F(ranks_panel, names_the_outlier_and_puts_it_first) {
  use([&](ImGuiTestContext& user) {
    open_ranks(user);
    const std::string words = read(user);
    const auto whole = report();
    std::size_t named = 0;
    for (const metrics::finding& each : whole->findings) {
      if (each.kind != metrics::finding_kind::rank_imbalance) continue;
      ++named;
      EXPECT_NE(words.find(each.text), std::string::npos) << each.text;
      EXPECT_NE(each.text.find("ank 2"), std::string::npos) << each.text;
    }
    EXPECT_GT(named, 0U);
    EXPECT_LT(words.find("Rank 2,"), words.find("Rank 0,"));
  });
}

TEST_F(ranks_panel, puts_the_rank_first_that_the_others_wait_for) {
  use([&](ImGuiTestContext& user) {
    testing::recording recorded;
    recorded.standard_tables();
    const trace::string_id gemm = recorded.text("gemm"),
                           reduce = recorded.text("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
      const trace::process_row process = add_rank(recorded, rank);
      const trace::device_row device = add_device(recorded, rank);
      add_block(recorded, process, device, trace::block_id{1 + rank});
      for (time_ns begin = 0; begin < 10'000'000; begin += 100'000) {
        auto kernel = recorded.event<trace::kernel_event>(begin);
        kernel.process = process.id;
        kernel.device = device.id;
        kernel.stream = trace::stream_id{30 + rank};
        kernel.name = gemm;
        kernel.end = begin + (rank == 2 ? 80'000 : 30'000);
        recorded.writer().add(kernel);
        kernel.time = kernel.end;
        kernel.end = begin + 95'000;
        kernel.name = reduce;
        recorded.writer().add(kernel);
      }
    }
    recorded.close();
    std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    open_panel(user);
    const std::string words = read(user);
    EXPECT_NE(words.find("The other ranks wait for rank 2"), std::string::npos) << words;
    EXPECT_LT(words.find("Rank 2,"), words.find("Rank 0,")) << words;
  });
}

TEST_F(ranks_panel, goes_to_the_peak_of_a_rank) {
  use([&](ImGuiTestContext& user) {
    open_ranks(user);
    click_row(user, get_rows(user, "//Ranks").at(0));
    ASSERT_TRUE(app().state().moment());
    EXPECT_EQ(*app().state().moment(), report()->waste.ranks[2].peak_time);
  });
}

/// Writes a recording in which two ranks share GPU 0 and the first rank also has GPU 1.
void write_shared(testing::recording& recorded) {
  recorded.standard_tables();
  for (std::uint64_t device = 0; device < 2; ++device) {
    add_device(recorded, device);
  }
  const auto uses = [&](std::uint64_t rank, std::uint64_t device, std::uint64_t bytes) {
    auto row = recorded.event<trace::alloc_event>(100'000);
    row.process = trace::process_id{10 + rank};
    row.block = trace::block_id{1 + rank * 10 + device};
    row.bytes = bytes;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{20 + device};
    recorded.writer().add(row);
    auto kernel = recorded.event<trace::kernel_event>(200'000);
    kernel.process = row.process;
    kernel.end = 900'000;
    kernel.device = row.device;
    kernel.stream = trace::stream_id{30 + rank * 10 + device};
    recorded.writer().add(kernel);
  };
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    add_rank(recorded, rank);
  }
  uses(0, 0, 16 * testing::mib);
  uses(0, 1, 4 * testing::mib);
  uses(1, 0, 8 * testing::mib);
}

TEST_F(ranks_panel, has_a_strip_for_each_rank_of_a_gpu_and_each_gpu_of_a_rank) {
  use([&](ImGuiTestContext& user) {
    testing::recording recorded;
    write_shared(recorded);
    recorded.close();
    std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    open_panel(user);
    EXPECT_NE(read(user).find("Memory, full colour: 16.0 MiB"), std::string::npos)
        << "of one rank, not of all ranks on the GPU";
    take_picture(user, "ranks that share a GPU");
    ImGuiTestItemList items;
    user.GatherItems(&items, "//Ranks", 20);
    const auto map = std::find_if(items.begin(), items.end(), [](const ImGuiTestItemInfo& each) {
      return std::string_view(each.DebugLabel) == "##map";
    });
    ASSERT_NE(map, items.end());
    // The memory at the end, according to the tooltips of the strips from top to bottom.
    std::vector<std::string> strips;
    for (float y = map->RectFull.Min.y + 3; y < map->RectFull.Max.y; y += 5) {
      user.MouseMoveToPos({map->RectFull.Max.x - 12, y});
      user.Yield(3);
      const std::string words = read(user);
      for (const char* strip : {"Rank 0, GPU 0\n16.0 MiB", "Rank 0, GPU 1\n4.00 MiB", "Rank 1\n8.00 MiB"})
        if (words.find(strip) != std::string::npos && (strips.empty() || strips.back() != strip))
          strips.emplace_back(strip);
    }
    EXPECT_EQ(strips,
              (std::vector<std::string>{"Rank 0, GPU 0\n16.0 MiB", "Rank 0, GPU 1\n4.00 MiB", "Rank 1\n8.00 MiB"}))
        << read(user);
  });
}

TEST_F(ranks_panel, limits_the_list_of_blocks_to_a_rank) {
  use([&](ImGuiTestContext& user) {
    testing::recording recorded;
    write_shared(recorded);
    recorded.close();
    std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
    open_sample(user);
    app().invoke("panel.focus.Blocks");
    user.Yield(4);
    settle(user);
    EXPECT_NE(read(user).find("all processes"), std::string::npos);
    EXPECT_EQ(app().find<gui::blocks_view>().count(), 3U);
    gui::blocks_filter only;
    only.process = trace::process_id{10};
    app().invoke("blocks.show", only);
    user.Yield(4);
    settle(user);
    EXPECT_EQ(app().find<gui::blocks_view>().count(), 2U);
    const std::string words = read(user);
    EXPECT_NE(words.find("Rank 0"), std::string::npos) << words;
    EXPECT_NE(words.find("2 blocks, 20.0 MiB"), std::string::npos) << words;
    app().invoke("blocks.show", gui::blocks_filter{});
    user.Yield(4);
    settle(user);
    EXPECT_EQ(app().find<gui::blocks_view>().count(), 3U);
    take_picture(user, "blocks of ranks");
  });
}

/// The text of the panel "Summary".
std::string summary_in(const std::string& words) {
  const std::size_t begin = words.find("Details for one of ");
  return begin == std::string::npos ? "" : words.substr(begin, words.find("Statistics\n", begin) - begin);
}

TEST_F(ranks_panel, is_not_needed_to_see_one_of_many_ranks_in_the_summary) {
  use([&](ImGuiTestContext& user) {
    open_ranks(user, 6);
    app().invoke("panel.focus.Summary");
    user.Yield(4);
    settle(user);
    const std::string first = summary_in(read(user));
    EXPECT_NE(first.find("Details for one of 6 ranks: { Rank 2 }"), std::string::npos)
        << "the rank with the highest peak: " << first;
    EXPECT_NE(first.find("16.0 MiB in 2 blocks"), std::string::npos) << first;
    user.SetRef("//Summary");
    user.ComboClick("##rank/Rank 3");
    user.SetRef("");
    user.Yield(4);
    settle(user);
    const std::string chosen = summary_in(read(user));
    EXPECT_NE(chosen.find("8.00 MiB in 1 block"), std::string::npos) << chosen;
  });
}

TEST_F(ranks_panel, says_when_there_is_one_rank_only) {
  use([&](ImGuiTestContext& user) {
    open_panel(user);
    EXPECT_NE(read(user).find("Fewer than two ranks"), std::string::npos);
  });
}

}  // namespace
}  // namespace sluice::test
