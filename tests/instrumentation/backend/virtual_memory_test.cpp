#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "tests/instrumentation/backend/on_each_backend.hpp"

// Address ranges, physical memory, and mappings between them.

namespace sluice::backend {
namespace {

class virtual_memory : public on_each_backend {
 protected:
  void SetUp() override {
    on_each_backend::SetUp();
    if (IsSkipped()) return;
    if (!dev().description().features.virtual_memory) GTEST_SKIP() << "skipped: this device has no virtual memory";
    unit = got(dev().virtual_granularity());
  }

  void write(void* to, std::uint32_t value) {
    done(dev().copy_async(to, &value, sizeof value, stream_handle::null));
    done(dev().synchronize());
  }
  std::uint32_t read(const void* source) {
    std::uint32_t value = 0;
    done(dev().copy_async(&value, source, sizeof value, stream_handle::null));
    done(dev().synchronize());
    return value;
  }
  static void* at(void* base, std::uint64_t offset) { return static_cast<std::byte*>(base) + offset; }

  std::uint64_t unit = 0;
};
SLUICE_ON_EACH_BACKEND(virtual_memory);

TEST_P(virtual_memory, has_a_granularity_that_is_a_power_of_two) {
  EXPECT_GE(unit, 4096u);
  EXPECT_EQ(unit & (unit - 1), 0u);
}

TEST_P(virtual_memory, shows_the_bytes_wherever_they_are_mapped) {
  void* addresses = got(dev().reserve_addresses(4 * unit, 0));
  const auto bytes = got(dev().create_physical(unit));
  done(dev().map(addresses, unit, bytes));
  write(at(addresses, 64), 41);
  done(dev().map(at(addresses, 2 * unit), unit, bytes));
  EXPECT_EQ(read(at(addresses, 2 * unit + 64)), 41u) << "the same bytes at a second address";
  write(at(addresses, 2 * unit + 64), 42);
  EXPECT_EQ(read(at(addresses, 64)), 42u);
  done(dev().unmap(addresses, unit));
  done(dev().unmap(at(addresses, 2 * unit), unit));
  done(dev().map(at(addresses, unit), unit, bytes));
  EXPECT_EQ(read(at(addresses, unit + 64)), 42u) << "they outlive their mappings";
  done(dev().unmap(at(addresses, unit), unit));
  done(dev().release_physical(bytes));
  done(dev().free_addresses(addresses, 4 * unit));
}

TEST_P(virtual_memory, joins_mappings_side_by_side_into_one_block_to_work_on) {
  void* addresses = got(dev().reserve_addresses(2 * unit, 0));
  const auto low = got(dev().create_physical(unit)), high = got(dev().create_physical(unit));
  done(dev().map(addresses, unit, low));
  done(dev().map(at(addresses, unit), unit, high));
  std::vector<unsigned char> in(2 * unit), out(2 * unit);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 131 >> 3);
  done(dev().copy_async(addresses, in.data(), in.size(), stream_handle::null));
  done(dev().set_async(at(addresses, unit - 8), 7, 16, stream_handle::null));
  done(dev().copy_async(out.data(), addresses, out.size(), stream_handle::null));
  done(dev().synchronize());
  std::memset(in.data() + unit - 8, 7, 16);
  EXPECT_EQ(in, out);
  done(dev().unmap(addresses, 2 * unit));
  done(dev().release_physical(low));
  done(dev().release_physical(high));
  done(dev().free_addresses(addresses, 2 * unit));
}

TEST_P(virtual_memory, keeps_released_bytes_until_they_are_unmapped) {
  void* addresses = got(dev().reserve_addresses(unit, 0));
  const auto bytes = got(dev().create_physical(unit));
  done(dev().map(addresses, unit, bytes));
  write(addresses, 5);
  done(dev().release_physical(bytes));
  EXPECT_EQ(read(addresses), 5u);
  done(dev().unmap(addresses, unit));
  done(dev().free_addresses(addresses, unit));
}

TEST_P(virtual_memory, costs_the_device_physical_bytes_only) {
  constexpr std::uint64_t many = 64;
  const auto before = got(dev().memory()).free_bytes;
  void* addresses = got(dev().reserve_addresses(many * unit, 0));
  const auto reserved = got(dev().memory()).free_bytes;
  const auto bytes = got(dev().create_physical(many * unit));
  const auto output = got(dev().memory()).free_bytes;
  if (simulated()) {
    EXPECT_EQ(reserved, before);
    EXPECT_EQ(output, before - many * unit);
  } else {
    EXPECT_LE(output + many * unit, before + 4 * unit) << "others use the device, too";
  }
  done(dev().release_physical(bytes));
  done(dev().free_addresses(addresses, many * unit));
  if (simulated()) {
    EXPECT_EQ(got(dev().memory()).free_bytes, before);
  }
}

TEST_P(virtual_memory, runs_out_and_recovers) {
  const auto total = dev().description().memory_bytes / unit * unit;
  const auto refused = dev().create_physical(2 * total);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, status::out_of_memory) << describe(refused.error());
  done(dev().release_physical(got(dev().create_physical(unit))));
}

TEST_P(virtual_memory, aligns_addresses_as_asked) {
  void* addresses = got(dev().reserve_addresses(unit, 8 * unit));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(addresses) % (8 * unit), 0u);
  done(dev().free_addresses(addresses, unit));
}

TEST_P(virtual_memory, refuses_sizes_off_the_granularity) {
  EXPECT_EQ(dev().reserve_addresses(unit + 1, 0).error().code, status::invalid_value);
  EXPECT_EQ(dev().create_physical(unit / 2).error().code, status::invalid_value);
  EXPECT_FALSE(dev().reserve_addresses(0, 0));
}

TEST_P(virtual_memory, knows_what_an_address_in_a_mapping_is) {
  void* addresses = got(dev().reserve_addresses(2 * unit, 0));
  const auto bytes = got(dev().create_physical(unit));
  done(dev().map(addresses, unit, bytes));
  const auto about = got(dev().describe_pointer(at(addresses, 100)));
  EXPECT_EQ(about.space, memory_space::device);
  EXPECT_EQ(about.base, addresses);
  EXPECT_EQ(about.device_address, at(addresses, 100));
  EXPECT_EQ(about.host_address, nullptr);
  done(dev().unmap(addresses, unit));
  done(dev().release_physical(bytes));
  done(dev().free_addresses(addresses, 2 * unit));
}

// The reference is a map from places to physical pieces; random maps, unmaps and writes must agree with that map.
TEST_P(virtual_memory, agrees_with_a_table_of_places_under_random_work) {
  constexpr std::size_t places = 16, pieces = 6;
  void* addresses = got(dev().reserve_addresses(places * unit, 0));
  std::vector<physical_handle> physical;
  std::vector<std::uint32_t> holds(pieces, 0);
  for (std::size_t i = 0; i < pieces; ++i) physical.push_back(got(dev().create_physical(unit)));
  std::map<std::size_t, std::size_t> mapped;  // place -> piece
  std::vector<bool> written(pieces, false);
  std::mt19937 random(7);
  for (int step = 0; step < 300; ++step) {
    const std::size_t place = random() % places, piece = random() % pieces;
    void* here = at(addresses, place * unit);
    if (const auto it = mapped.find(place); it == mapped.end()) {
      done(dev().map(here, unit, physical[piece]));
      mapped[place] = piece;
    } else if (step % 3 == 0) {
      done(dev().unmap(here, unit));
      mapped.erase(it);
    } else {
      if (written[it->second]) {
        ASSERT_EQ(read(at(here, 32)), holds[it->second]) << "at step " << step;
      }
      holds[it->second] = static_cast<std::uint32_t>(random());
      written[it->second] = true;
      write(at(here, 32), holds[it->second]);
    }
  }
  for (const auto& [place, piece] : mapped) done(dev().unmap(at(addresses, place * unit), unit));
  for (const auto piece : physical) done(dev().release_physical(piece));
  done(dev().free_addresses(addresses, places * unit));
}

TEST(simulated_virtual_memory, refuses_what_makes_no_sense) {
  simulated_device d({});
  const std::uint64_t unit = *d.virtual_granularity();
  void* addresses = *d.reserve_addresses(2 * unit, 0);
  const auto bytes = *d.create_physical(unit);
  EXPECT_FALSE(d.map(static_cast<std::byte*>(addresses) + 4096, unit, bytes)) << "not a multiple of the granularity";
  EXPECT_FALSE(d.map(addresses, 2 * unit, bytes)) << "larger than the physical memory";
  EXPECT_FALSE(d.map(addresses, unit, physical_handle{99}));
  EXPECT_FALSE(d.map(*d.allocate(unit), unit, bytes)) << "not reserved";
  ASSERT_TRUE(d.map(addresses, unit, bytes));
  EXPECT_FALSE(d.map(addresses, unit, bytes)) << "the address is already mapped";
  EXPECT_FALSE(d.free_addresses(addresses, 2 * unit)) << "while something is mapped there";
  EXPECT_FALSE(d.free(addresses)) << "a mapping is not a block";
  EXPECT_FALSE(d.unmap(addresses, 2 * unit));
  EXPECT_FALSE(d.unmap(addresses, unit / 2));
  ASSERT_TRUE(d.unmap(addresses, unit));
  EXPECT_FALSE(d.copy_async(addresses, &unit, 8, stream_handle::null)) << "nothing is mapped there any more";
  ASSERT_TRUE(d.release_physical(bytes));
  EXPECT_FALSE(d.release_physical(bytes)) << "twice";
}

TEST(simulated_virtual_memory, reports_work_on_what_was_unmapped_under_it) {
  simulated_device d({});
  const std::uint64_t unit = *d.virtual_granularity();
  void* addresses = *d.reserve_addresses(unit, 0);
  ASSERT_TRUE(d.map(addresses, unit, *d.create_physical(unit)));
  void* host = *d.allocate_pinned(unit, {});
  ASSERT_TRUE(d.copy_async(addresses, host, unit, stream_handle::null));
  ASSERT_TRUE(d.unmap(addresses, unit)) << "nobody waited for the copy";
  const auto result = d.synchronize();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().native, 700);
}

TEST(simulated_virtual_memory, is_something_a_device_may_lack) {
  simulated_config config;
  config.features.virtual_memory = false;
  simulated_device d(config);
  EXPECT_EQ(d.virtual_granularity().error().code, status::not_supported);
  EXPECT_EQ(d.create_physical(2u << 20).error().code, status::not_supported);
}

}  // namespace
}  // namespace sluice::backend
