// Imports bytes as logs of RMM, and as the allocator totals in Ascend's memory_record.csv.
#include <string_view>

#include "tests/fuzz/import_bytes.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::rmm_csv {
namespace {

void run(std::span<const std::uint8_t> input) {
  import_bytes({reinterpret_cast<const char*>(input.data()), input.size()});
}

std::vector<bytes> seeds() {
  constexpr std::string_view log =
      "Thread,Time,Action,Pointer,Size,Stream\n"
      "31,23:59:59.999999,allocate,0x7f00,64,0x0\n"
      "31,00:00:00:000001,allocate failure,(nil),1099511627776,0x2\n"
      "32,00:00:01.000000,free,0x7f00,64,0x0\n"
      "32,1634567890.5,free,0x8f00,65,0x0\r\n";
  constexpr std::string_view sums =
      "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
      "PTA,1700000000000000.250\t,10.5,20.0,10.5,,NPU:3\nAPP,1700000000000016\t,,100,,,NPU:3\n"
      "PTA,1700000000000020.250\t,1.25,40,30,,NPU:3\r\n";
  return {bytes(log.begin(), log.end()), bytes(sums.begin(), sums.end())};
}

}  // namespace
}  // namespace sluice::fuzz::rmm_csv

sluice::fuzz::target sluice::fuzz::rmm_csv_target() { return {"rmm_csv", rmm_csv::run, rmm_csv::seeds}; }
