// Finds the owner of an imported block from the records of two processes. Invalid records are ignored.
#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

class shares : public record_decoder_test {
 protected:
  shares() : other_(&rows_->add_process(identity(200), 200)), here_(&add_thread()), there_(&add_thread(*other_)) {}

  void share(thread& t, time_ns time, ring::shared_thing kind, std::uint64_t key, std::uint64_t value,
             std::uint64_t pool = 0, bool imported = false) {
    ring::share_record r{};
    r.key = key;
    r.object = value;
    r.pool = pool;
    r.kind = static_cast<std::uint32_t>(kind);
    r.imported = imported ? 1 : 0;
    put(t, time, r);
  }
  void import(thread& t, time_ns time, ring::shared_thing kind, std::uint64_t key, std::uint64_t value,
              std::uint64_t pool = 0) {
    ring::alloc_record r{};
    r.header.flags = ring::flag_ipc | ring::flag_shared;
    r.address = value;
    r.bytes = 64;
    r.device = ring::no_device;
    r.pool = pool;
    r.layer = static_cast<std::uint8_t>(kind == ring::shared_thing::pool_block ? layer::pool : layer::driver);
    r.kind =
        static_cast<std::uint8_t>(kind == ring::shared_thing::physical ? memory_kind::physical : memory_kind::device);
    put(t, time, r);
    share(t, time, kind, key, value, pool, true);
  }
  /// The size in bytes of each link's owner, by the imported block's address.
  std::map<std::uint64_t, std::uint64_t> owners() {
    const recorded& trace = finish();
    std::map<event_id, alloc_event> allocs;
    for (const alloc_event& a : trace.all<alloc_event>()) allocs[a.id] = a;
    std::map<std::uint64_t, std::uint64_t> found;
    for (const link_event& l : trace.all<link_event>()) {
      EXPECT_EQ(l.kind, link_kind::import_to_owner);
      found[allocs[l.from].address] = allocs[l.to].bytes;
    }
    return found;
  }

  recorded_process* other_;
  thread* here_;
  thread* there_;
};

constexpr auto block = ring::shared_thing::block;
using links = std::map<std::uint64_t, std::uint64_t>;

TEST_F(shares, an_import_leads_to_what_was_made_known_last) {
  alloc(*here_, 10, 0x1000, 100);
  share(*here_, 11, block, 7, 0x1000);
  free(*here_, 12, 0x1000);
  alloc(*here_, 13, 0x1000, 200);
  share(*here_, 14, block, 7, 0x1000);
  import(*there_, 20, block, 7, 0x9000);
  import(*there_, 21, block, 8, 0xA000);
  EXPECT_EQ(owners(), (links{{0x9000, 200}}));
}

TEST_F(shares, an_import_of_an_import_leads_to_the_first_owner) {
  alloc(*here_, 10, 0x1000, 100);
  share(*here_, 11, block, 7, 0x1000);
  import(*there_, 20, block, 7, 0x9000);
  share(*there_, 21, block, 8, 0x9000);
  import(*here_, 30, block, 8, 0xB000);
  EXPECT_EQ(owners(), (links{{0x9000, 100}, {0xB000, 100}}));
}

TEST_F(shares, a_pools_block_is_reported_by_its_pool_or_by_being_the_only_one) {
  const auto pooled = [&](time_ns time, std::uint64_t address, std::uint64_t bytes, std::uint64_t pool) {
    ring::alloc_record r{};
    r.address = address;
    r.bytes = bytes;
    r.device = ring::no_device;
    r.pool = pool;
    r.layer = static_cast<std::uint8_t>(layer::pool);
    r.kind = static_cast<std::uint8_t>(memory_kind::device);
    put(*here_, time, r);
  };
  share(*here_, 5, ring::shared_thing::pool, 50, 0xF1);
  share(*here_, 6, ring::shared_thing::pool, 60, 0xF2);
  pooled(10, 0x1000, 100, 0xF1);
  pooled(11, 0x2000, 200, 0xF2);
  share(*here_, 12, ring::shared_thing::pool_block, 7, 0x1000);
  share(*here_, 13, ring::shared_thing::pool_block, 7, 0x2000);
  share(*here_, 14, ring::shared_thing::pool_block, 8, 0x2000);
  share(*there_, 20, ring::shared_thing::pool, 60, 0xE2, 0, true);
  import(*there_, 21, ring::shared_thing::pool_block, 7, 0x9000, 0xE2);
  import(*there_, 22, ring::shared_thing::pool_block, 7, 0xA000,
         0xE9);                                                          // An unknown pool, so two blocks match.
  import(*there_, 23, ring::shared_thing::pool_block, 8, 0xB000, 0xE9);  // Only one block matches.
  EXPECT_EQ(owners(), (links{{0x9000, 200}, {0xB000, 200}}));
}

TEST_F(shares, nonsense_makes_no_links) {
  alloc(*here_, 10, 0x1000, 100);
  share(*here_, 11, block, 0, 0x1000);                                // There is no key.
  share(*here_, 12, block, 7, 0x5000);                                // There is no block at this address.
  share(*here_, 13, static_cast<ring::shared_thing>(99), 7, 0x5000);  // There is no such kind.
  share(*here_, 14, block, 9, 0x1000);
  share(*here_, 15, block, 9, 0x1000, 0, true);                        // The process imports its own block.
  share(*there_, 16, ring::shared_thing::physical, 9, 0x77, 0, true);  // Imported without an allocation.
  import(*there_, 20, block, 0, 0x9000);
  import(*there_, 21, block, 7, 0xA000);
  for (std::uint64_t i = 0; i < 1000; ++i) share(*there_, 30, ring::shared_thing::pool, i, ~i, ~i, i % 2 == 0);
  EXPECT_EQ(owners(), links{});
}

}  // namespace
}  // namespace sluice::writer
