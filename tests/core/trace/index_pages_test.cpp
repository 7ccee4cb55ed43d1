#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/checksum.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer_inline.hpp"

namespace sluice::trace {
namespace {

constexpr std::size_t kernels = 5'000;  ///< Each kernel is in its own chunk.
constexpr time_ns tile_length = 4096;
constexpr std::size_t tiles = 1'500;

/// A recording in memory that counts the bytes that are read from it.
class counted_bytes final : public byte_source {
 public:
  explicit counted_bytes(std::vector<char> content) : byte_source("memory"), content_(std::move(content)) {}
  result<extent> poll() override { return extent{content_.size(), false, {}}; }
  result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (lost_) return fail(error_code::io, "the connection has ended", name());
    const std::size_t begin = std::min<std::size_t>(offset, content_.size());
    const std::size_t bytes = std::min(into.size(), content_.size() - begin);
    std::memcpy(into.data(), content_.data() + begin, bytes);
    read_ += bytes;
    return bytes;
  }
  [[nodiscard]] std::size_t read() const { return read_; }
  void lose() { lost_ = true; }

 private:
  std::vector<char> content_;
  mutable std::size_t read_ = 0;
  bool lost_ = false;
};

std::vector<char> make_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A closed recording of `count` chunks of one kernel, and the requested numbers of chunks of tiles and of categories.
std::vector<char> recording(std::size_t count, std::size_t of_tiles = 0) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = (std::filesystem::temp_directory_path() /
                            (std::string("sluice-") + info->name() + "-" + std::to_string(::getpid()) + ".sluice"))
                               .string();
  writer_options options;
  options.rows_per_chunk = 1;
  auto writer = std::move(file_writer::create(path, options).value());
  for (std::size_t i = 0; i < count; ++i) {
    kernel_event row;
    row.time = static_cast<time_ns>(100 * i);
    row.end = row.time + 10;
    row.name = writer.intern("a kernel");
    writer.add(row);
  }
  for (std::size_t i = 0; i < of_tiles; ++i) {
    const auto begin = static_cast<time_ns>(i) * tile_length;
    const std::pair<time_ns, time_ns> over(begin, begin + tile_length - 1);
    writer.add_summary<block_category_row>(std::vector<block_category_row>{{static_cast<block_id>(i + 1), 1, 1}}, over);
    writer.add_summary<curve_bin_row>(std::vector<curve_bin_row>{{begin, 0, 1, 2, 1.5, 2}}, over);
    // The tile of the next level, which covers two tiles.
    if (i % 2 == 1)
      writer.add_summary<curve_bin_row>(std::vector<curve_bin_row>{{begin, 0, 1, 2, 1.5, 2}},
                                        std::pair(begin - tile_length, begin + tile_length - 1));
  }
  EXPECT_TRUE(writer.close());
  std::vector<char> content = make_content(path);
  std::filesystem::remove(path);
  return content;
}

std::shared_ptr<const snapshot> open(std::vector<char> content) {
  const auto opened = file::open(std::make_shared<counted_bytes>(std::move(content)));
  return opened ? (*opened)->latest() : nullptr;
}

/// The position of a recording's index: of the list of pages, or of the only page.
struct ends {
  std::size_t list = 0;
  std::size_t pages = 0;
  std::size_t mark = 0;
};
ends get_ends(const std::vector<char>& content) {
  trailer end;
  std::memcpy(&end, content.data() + content.size() - sizeof end, sizeof end);
  ends found;
  found.pages = end.index_offset;
  found.mark = content.size() - sizeof end - pages_mark_bytes;
  chunk_header mark;
  std::memcpy(&mark, content.data() + found.mark, sizeof mark);
  found.list = static_cast<std::size_t>(mark.min_time);
  return found;
}

std::vector<char> without_list(const std::vector<char>& content) {
  const ends subject = get_ends(content);
  std::vector<char> texts(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(subject.mark));
  texts.insert(texts.end(), content.end() - sizeof(trailer), content.end());
  return texts;
}

std::vector<std::uint64_t> offsets(std::span<const chunk_info> chunks) {
  std::vector<std::uint64_t> values;
  for (const chunk_info& each : chunks) values.push_back(each.offset);
  return values;
}

std::size_t kernels_in(const snapshot& recording) {
  std::size_t count = 0;
  EXPECT_TRUE(recording.for_each<kernel_event>([&](const kernel_event&) { ++count; }));
  return count;
}

TEST(index_pages, are_found_by_who_needs_few_chunks_and_who_needs_all) {
  const std::vector<char> content = recording(kernels, tiles);
  const auto paged = open(content), whole = open(without_list(content));
  ASSERT_TRUE(paged && whole);
  EXPECT_TRUE(paged->complete());
  EXPECT_TRUE(paged->warnings().empty());
  ASSERT_EQ(paged->chunk_count(), kernels + 1) << "plus the names";
  // Reads single entries first, before anything requests all of them.
  for (std::size_t i = 0; i < paged->chunk_count(); i += 97)
    EXPECT_EQ(paged->chunk(i).offset, whole->chunks()[i].offset);
  EXPECT_EQ(paged->chunk(paged->chunk_count()).rows, 0U);
  EXPECT_EQ(offsets(paged->chunks()), offsets(whole->chunks()));
  EXPECT_EQ(offsets(paged->summaries()), offsets(whole->summaries()));
  EXPECT_EQ(kernels_in(*paged), kernels);
  EXPECT_EQ(paged->begin(), whole->begin());
  EXPECT_EQ(paged->end(), whole->end());
  EXPECT_EQ(paged->tables().strings.rows().size(), whole->tables().strings.rows().size());
}

TEST(index_pages, tell_the_summaries_of_a_type_and_time) {
  const auto content = recording(kernels, tiles);
  for (const auto& now : {open(content), open(without_list(content))}) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 50; ++round) {
      const auto source = static_cast<time_ns>(random() % (tiles * tile_length));
      const time_ns to = source + static_cast<time_ns>(random() % (4 * tile_length));
      std::vector<chunk_info> found, expected;
      now->for_each_summary(
          row_type::block_category, [&](const chunk_info& chunk) { found.push_back(chunk); }, source, to);
      for (const chunk_info& chunk : now->summaries())
        if (chunk.type == row_type::block_category && chunk.min_time <= to && chunk.max_time >= source)
          expected.push_back(chunk);
      EXPECT_EQ(offsets(found), offsets(expected));
      EXPECT_FALSE(found.empty());
    }
  }
}

TEST(index_pages, tell_the_chunks_of_a_tile_at_each_level) {
  const auto content = recording(kernels, tiles);
  for (const auto& now : {open(content), open(without_list(content))}) {
    const chunk_list& search = now->summaries_to_search();
    EXPECT_EQ(search.tile_levels(), std::uint64_t{3} << 12);
    for (std::size_t i = 0; i < tiles; ++i) {
      const auto begin = static_cast<time_ns>(i) * tile_length;
      const auto found = search.of_tile(begin, begin + tile_length - 1);
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0].min_time, begin);
      EXPECT_EQ(found[0].type, row_type::curve_bin);
      EXPECT_EQ(search.of_tile(begin, begin + 2 * tile_length - 1).size(), i % 2 == 0 ? 1U : 0U) << "above";
    }
    EXPECT_TRUE(search.of_tile(0, 17).empty());
  }
}

TEST(index_pages, are_not_read_before_they_are_needed) {
  const auto bytes_to_open = [](const std::vector<char>& content) {
    const auto source = std::make_shared<counted_bytes>(content);
    const auto now = file::open(source).value()->latest();
    const std::size_t opened = source->read();
    EXPECT_EQ(now->summaries_to_search().of_tile(tile_length, 2 * tile_length - 1).size(), 1U);
    now->for_each_summary(
        row_type::block_category, [](const chunk_info&) {}, 0, tile_length);
    return std::pair(opened, source->read());
  };
  const auto small = bytes_to_open(recording(kernels, tiles)), large = bytes_to_open(recording(4 * kernels, tiles * 4));
  // With four times as many chunks, only the list of pages is longer, by one row per page.
  constexpr std::size_t more_pages = 3 * (kernels + tiles * 5 / 2) / chunks_a_page + 2;
  constexpr std::size_t a_line = 32;
  EXPECT_LT(large.first, small.first + more_pages * a_line);
  EXPECT_LT(large.second, small.second + more_pages * a_line);
}

TEST(index_pages, are_for_long_indexes_alone) {
  // Includes the chunk of names.
  const auto shortest = recording(max_chunks_unpaged), longest = recording(max_chunks_unpaged - 1);
  const auto has_mark = [](const std::vector<char>& content) {
    chunk_header header;
    std::memcpy(&header, content.data() + content.size() - sizeof(trailer) - pages_mark_bytes, sizeof header);
    return header.magic == chunk_magic && header.checksum == header_checksum(header);
  };
  EXPECT_TRUE(has_mark(shortest));
  EXPECT_FALSE(has_mark(longest));
  EXPECT_EQ(kernels_in(*open(shortest)), max_chunks_unpaged);
  EXPECT_EQ(kernels_in(*open(longest)), max_chunks_unpaged - 1);
}

TEST(index_pages, are_made_up_for_by_a_walk_where_they_are_damaged) {
  const std::vector<char> content = recording(kernels, tiles);
  const auto whole = open(content);
  const ends subject = get_ends(content);
  std::size_t at = subject.list;
  std::size_t damaged_pages = 0;
  while (at < subject.mark) {
    chunk_header header;
    std::memcpy(&header, content.data() + at, sizeof header);
    auto damaged = content;
    damaged[at + sizeof header + header.stored_bytes / 2] ^= 0x55;
    const auto now = open(damaged);
    ASSERT_TRUE(now);
    EXPECT_TRUE(now->complete());
    EXPECT_EQ(now->chunk_count(), whole->chunk_count());
    EXPECT_EQ(now->chunk(kernels / 2).offset, whole->chunk(kernels / 2).offset);
    EXPECT_EQ(offsets(now->chunks()), offsets(whole->chunks())) << "damage at byte " << at;
    EXPECT_EQ(offsets(now->summaries()), offsets(whole->summaries())) << "damage at byte " << at;
    EXPECT_EQ(now->begin(), 0);
    EXPECT_EQ(kernels_in(*now), kernels);
    at += sizeof header + header.stored_bytes;
    ++damaged_pages;
  }
  EXPECT_GT(damaged_pages, 9U);
}

/// `content` with damage in the payload of each of the given pages; pages of events come first.
std::vector<char> with_damaged_pages(std::vector<char> content, std::initializer_list<std::size_t> pages) {
  const ends subject = get_ends(content);
  std::size_t at = subject.pages;
  for (std::size_t page = 0; at < subject.mark; ++page) {
    chunk_header header;
    std::memcpy(&header, content.data() + at, sizeof header);
    if (std::find(pages.begin(), pages.end(), page) != pages.end())
      content[at + sizeof header + header.stored_bytes / 2] ^= 0x55;
    at += sizeof header + header.stored_bytes;
  }
  return content;
}

TEST(index_pages, that_are_damaged_are_reported_in_one_line) {
  const std::vector<char> content = recording(kernels, tiles);
  const auto now = open(with_damaged_pages(content, {1, 3}));
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->warnings().empty()) << "only the page with the names was read";
  EXPECT_EQ(now->chunk(now->chunk_count() / 2).rows, 1U);
  static_cast<void>(now->chunks());
  const std::vector<std::string> expected = {"the index of the file is damaged; its chunks were found without it"};
  EXPECT_EQ(now->warnings(), expected);
  EXPECT_EQ(now->warnings(), expected);
}

TEST(index_pages, that_can_no_longer_be_read_are_not_called_damaged) {
  const auto bytes = std::make_shared<counted_bytes>(recording(kernels, tiles));
  const auto now = file::open(bytes).value()->latest();
  bytes->lose();
  const std::size_t count = now->chunk_count();
  EXPECT_EQ(now->chunks().size(), count);
  const std::vector<std::string> expected = {"the connection has ended: some data is missing"};
  EXPECT_EQ(now->warnings(), expected);
}

TEST(index_pages, that_are_damaged_say_how_many_chunks_are_lost) {
  std::vector<char> content = recording(kernels, tiles);
  const std::vector<chunk_info> infos = [&] {
    const auto whole = open(content);
    return std::vector(whole->chunks().begin(), whole->chunks().end());
  }();
  content[infos[kernels / 2].offset] ^= 0x55;
  const auto now = open(with_damaged_pages(content, {1}));
  ASSERT_TRUE(now);
  static_cast<void>(now->chunks());
  EXPECT_EQ(now->warnings(), std::vector<std::string>{
                                 "the index of the file is damaged; its chunks were found without it, except 1 of " +
                                 std::to_string(now->chunk_count() + now->summaries().size())});
}

TEST(index_pages, survive_damage_anywhere) {
  const std::vector<char> content = recording(kernels, 10);
  const std::size_t begin = get_ends(content).list;
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    auto damaged = content;
    for (std::uint64_t hit = 0; hit <= random() % 4; ++hit)
      damaged[begin + random() % (damaged.size() - begin)] = static_cast<char>(random());
    const auto now = open(damaged);
    ASSERT_TRUE(now) << "the rows are intact";
    EXPECT_EQ(kernels_in(*now), kernels);
    for (std::size_t i = 0; i < now->chunk_count(); i += 501) static_cast<void>(now->chunk(i));
  }
}

/// Lets `change` modify the rows of the list of pages, and updates the checksum, as an attacker would.
template <class Change>
std::vector<char> lying(const std::vector<char>& content, Change&& change) {
  const ends subject = get_ends(content);
  chunk_header header;
  std::memcpy(&header, content.data() + subject.list, sizeof header);
  const auto* payload = reinterpret_cast<const std::byte*>(content.data() + subject.list + sizeof header);
  std::vector<index_page_row> rows;
  EXPECT_TRUE(decode_rows<index_page_row>({payload, header.stored_bytes}, header.rows, rows));
  change(rows);
  std::vector<std::byte> stored;
  const auto encoded = row_encoder().encode(std::span<const index_page_row>(rows), stored);
  header.rows = static_cast<std::uint32_t>(rows.size());
  header.raw_bytes = static_cast<std::uint32_t>(encoded.decoded_bytes);
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.payload_checksum = XXH3_64bits(stored.data(), stored.size());
  header.checksum = header_checksum(header);
  std::vector<char> texts(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(subject.list));
  const auto put = [&](const void* bytes, std::size_t count) {
    texts.insert(texts.end(), static_cast<const char*>(bytes), static_cast<const char*>(bytes) + count);
  };
  put(&header, sizeof header);
  put(stored.data(), stored.size());
  trailer end;
  end.index_offset = texts.size();
  end.checksum = header_checksum(end);
  put(content.data() + subject.pages, content.size() - subject.pages - sizeof end);
  put(&end, sizeof end);
  return texts;
}

TEST(index_pages, are_not_believed) {
  const std::vector<char> content = recording(kernels, tiles);
  using rows = std::vector<index_page_row>;
  const std::vector<std::function<void(rows&)>> lies = {
      [](rows& whole) { whole[1].rows = 17; },
      [](rows& full) { full[1].rows = UINT32_MAX; },
      [](rows& items) { items[2].offset += 1; },
      [](rows& complete_set) { complete_set[2].stored_bytes = UINT32_MAX; },
      [](rows& all) { all.pop_back(); },
      [](rows& all) { all.insert(all.end(), all.begin(), all.end()); },
      [](rows& all) { all.clear(); },
      [](rows& all) { std::swap(all.front(), all.back()); },
      [](rows& all) { all[1].summaries = 2, all[1].events = all[1].tables = 0; },
      [](rows& all) { all.back().events = ~std::uint64_t{0}; },
      [](rows& all) { all.front().tables = ~std::uint64_t{0}; },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    const auto now = open(lying(content, lies[i]));
    ASSERT_TRUE(now);
    // A page that claims fewer rows hides some of them, as any file could by omitting them.
    const bool hides = i == 0;
    EXPECT_EQ(kernels_in(*now), hides ? kernels - (chunks_a_page - 17) : kernels) << "lie " << i;
    EXPECT_EQ(now->chunks().size(), now->chunk_count()) << "lie " << i;
    EXPECT_EQ(now->summaries().size(), tiles * 5 / 2) << "lie " << i;
  }
  // Wrong times and levels only hide the rows that they describe.
  const auto hidden = open(lying(content, [](rows& all) {
    for (index_page_row& each : all) each.min_time = INT64_MAX, each.max_time = INT64_MIN, each.levels = ~0ULL;
  }));
  EXPECT_TRUE(hidden->summaries_to_search().of_tile(0, tile_length - 1).empty());
  EXPECT_EQ(kernels_in(*hidden), kernels);
}

}  // namespace
}  // namespace sluice::trace
