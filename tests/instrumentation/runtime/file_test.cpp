#include <cstring>

#include "instrumentation/runtime/mapped_file.hpp"
#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/complains.hpp"
#include "tests/instrumentation/runtime/scratch_files.hpp"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class files : public scratch_files {};
SLUICE_ON_EACH_DEVICE(files);

TEST_P(files, are_mapped_as_they_are) {
  const auto path = make("a", 4096 + 12);
  const mapped_file f(path);
  EXPECT_EQ(f.size_bytes(), 4108u);
  const auto expected = words(path);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), f.as<std::uint32_t>().begin()));
}

TEST_P(files, that_can_be_written_cannot_be_registered) {
  if (!simulated()) GTEST_SKIP() << "depends on the file system; measured on an H200";
  const mapped_file written(make("rw", 8192), file_access::read_write);
  auto* const data = const_cast<std::byte*>(written.bytes().data());
  complains("writable", [&] { const host_registration pinned(data, 8192, {.read_only = true}, device()); });
  complains("writable", [&] { const host_registration pinned(data + 4096, 4096, {}, device()); });
  const mapped_file read(make("ro", 8192));
  EXPECT_NO_THROW((void)read.pin());
}

TEST_P(files, are_complained_about_when_they_cannot_be_used) {
  complains("No such file", [&] { mapped_file f(folder / "missing"); });
  complains("empty", [&] { mapped_file f(make("empty", 0)); });
  complains("not a regular file", [&] { mapped_file f(folder); });
  complains("not a multiple of 8", [&] { (void)mapped_file(make("odd", 1001)).as<double>(); });
  mapped_file f(make("ro", 100));
  complains("read-only", [&] { (void)f.writable_bytes(); });
  complains("read-only", [&] { f.write_at(0, {}); });
  complains("read-only", [&] { f.flush(); });
}

TEST_P(files, say_when_they_were_cut_short_instead_of_crashing) {
  const auto path = make("cut", 100'000);
  const mapped_file f(path);
  fs::resize_file(path, 50'000);
  std::vector<std::byte> out(60'000);
  complains("the file ends at byte 50000", [&] { f.read_at(0, out); });
  complains("truncated", [&] { f.require_whole(); });
}

TEST_P(files, keep_what_was_written_and_flushed) {
  const auto path = make("rw", 8192);
  {
    mapped_file f(path, file_access::read_write);
    const std::vector<std::byte> some(100, std::byte{7});
    f.write_at(5000, some);
    f.writable_bytes()[0] = std::byte{9};
    f.flush();
    complains("exceeds the file", [&] { f.write_at(8100, some); });
    complains("exceeds the file", [&] { f.flush(8000, 500); });
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(in.get(), 9);
  in.seekg(5099);
  EXPECT_EQ(in.get(), 7);
}

TEST_P(files, go_to_the_device_as_values) {
  const auto path = make("a", 1 << 20);
  const mapped_file f(path);
  EXPECT_EQ(to_vector(to_device(f.as<std::uint32_t>())), words(path));
  const auto pinned = f.pin();
  EXPECT_EQ(find_memory_space(f.bytes().data()), memory_space::pinned);
  EXPECT_EQ(to_vector(to_device(f.as<std::uint32_t>())), words(path)) << "page-locked, too";
}

TEST_P(files, are_pinned_only_to_be_read_and_whole) {
  const auto path = make("a", 1 << 20);
  const mapped_file writable(path, file_access::read_write);
  complains("opened for writing", [&] { (void)writable.pin(); });
  const mapped_file f(path);
  fs::resize_file(path, 4096);
  complains("truncated to 4096 bytes", [&] { (void)f.pin(); });
}

TEST_P(files, are_made_with_their_space_reserved) {
  mapped_file f = mapped_file::create(folder / "new", 100'000);
  EXPECT_EQ(f.size_bytes(), 100'000u);
  EXPECT_EQ(f.bytes()[99'999], std::byte{0});
  std::memset(f.writable_bytes().data(), 5, 100'000);
  f.flush(0, 50'000);
  struct stat about {};
  ASSERT_EQ(stat((folder / "new").c_str(), &about), 0);
  EXPECT_GE(about.st_blocks * 512, 100'000);
  complains("nothing to map", [&] { (void)mapped_file::create(folder / "zero", 0); });
  complains("No such file", [&] { (void)mapped_file::create(folder / "no" / "such", 1); });
  complains("mapped_file::create", [&] { (void)mapped_file::create(folder / "huge", std::uint64_t{1} << 62); });
  EXPECT_FALSE(fs::exists(folder / "huge")) << "a file that could not be created is removed";
}

TEST_P(files, have_on_disk_what_was_flushed) {
  const auto path = make("rw", 1 << 20);
  const auto expected = all_times_three_plus_one(words(path));
  {
    mapped_file f(path, file_access::read_write);
    const device_array<std::uint32_t, 1> there = to_device(f.as<std::uint32_t>());
    launch(kernels::affine_u32, launch_config::for_size(there.size()), current_stream(), there.data(), there.size(), 3u,
           1u, 1u);
    const auto result = to_vector(there);
    std::memcpy(f.writable_bytes().data(), result.data(), 500'000);
    f.write_at(500'000, std::as_bytes(std::span(result)).subspan(500'000));
    f.flush(0, 1 << 20);
  }
  EXPECT_EQ(words_past_the_cache(path), expected);
}

}  // namespace
}  // namespace sluice::runtime
