// Finds the owner of an imported block from the records of two processes. Also invalid records.
#include "tests/instrumentation/writer/assembler_fixture.hpp"

namespace sluice::collector {
namespace {

class shares : public assembler_test {
 protected:
  shares() : other_(&rows_->add_process(identity(200), 200)), here_(&add_thread()), there_(&add_thread(*other_)) {}

  void share(thread& t, time_ns time, shared_thing kind, std::uint64_t key, std::uint64_t what, std::uint64_t pool = 0,
             bool imported = false) {
    share_record r{};
    r.key = key;
    r.what = what;
    r.pool = pool;
    r.kind = static_cast<std::uint32_t>(kind);
    r.imported = imported ? 1 : 0;
    put(t, time, r);
  }
  void import(thread& t, time_ns time, shared_thing kind, std::uint64_t key, std::uint64_t what,
              std::uint64_t pool = 0) {
    alloc_record r{};
    r.header.flags = flag_ipc | flag_shared;
    r.address = what;
    r.bytes = 64;
    r.device = no_device;
    r.pool = pool;
    r.layer = static_cast<std::uint8_t>(kind == shared_thing::pool_block ? layer::pool : layer::driver);
    r.kind = static_cast<std::uint8_t>(kind == shared_thing::physical ? memory_kind::physical : memory_kind::device);
    put(t, time, r);
    share(t, time, kind, key, what, pool, true);
  }
  /// Bytes of each link's owner, by the imported block's address.
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

constexpr auto block = shared_thing::block;
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

TEST_F(shares, a_pools_block_is_told_by_its_pool_or_by_being_the_only_one) {
  const auto pooled = [&](time_ns time, std::uint64_t address, std::uint64_t bytes, std::uint64_t pool) {
    alloc_record r{};
    r.address = address;
    r.bytes = bytes;
    r.device = no_device;
    r.pool = pool;
    r.layer = static_cast<std::uint8_t>(layer::pool);
    r.kind = static_cast<std::uint8_t>(memory_kind::device);
    put(*here_, time, r);
  };
  share(*here_, 5, shared_thing::pool, 50, 0xF1);
  share(*here_, 6, shared_thing::pool, 60, 0xF2);
  pooled(10, 0x1000, 100, 0xF1);
  pooled(11, 0x2000, 200, 0xF2);
  share(*here_, 12, shared_thing::pool_block, 7, 0x1000);
  share(*here_, 13, shared_thing::pool_block, 7, 0x2000);
  share(*here_, 14, shared_thing::pool_block, 8, 0x2000);
  share(*there_, 20, shared_thing::pool, 60, 0xE2, 0, true);
  import(*there_, 21, shared_thing::pool_block, 7, 0x9000, 0xE2);
  import(*there_, 22, shared_thing::pool_block, 7, 0xA000, 0xE9);  // A pool that nothing is known of: which of the two?
  import(*there_, 23, shared_thing::pool_block, 8, 0xB000, 0xE9);  // There is one of these.
  EXPECT_EQ(owners(), (links{{0x9000, 200}, {0xB000, 200}}));
}

TEST_F(shares, nonsense_makes_no_links) {
  alloc(*here_, 10, 0x1000, 100);
  share(*here_, 11, block, 0, 0x1000);                          // No key.
  share(*here_, 12, block, 7, 0x5000);                          // Nothing lies there.
  share(*here_, 13, static_cast<shared_thing>(99), 7, 0x5000);  // Nor is there such a thing.
  share(*here_, 14, block, 9, 0x1000);
  share(*here_, 15, block, 9, 0x1000, 0, true);                  // It is its own.
  share(*there_, 16, shared_thing::physical, 9, 0x77, 0, true);  // Had without an allocation.
  import(*there_, 20, block, 0, 0x9000);
  import(*there_, 21, block, 7, 0xA000);
  for (std::uint64_t i = 0; i < 1000; ++i) share(*there_, 30, shared_thing::pool, i, ~i, ~i, i % 2 == 0);
  EXPECT_EQ(owners(), links{});
}

}  // namespace
}  // namespace sluice::collector
