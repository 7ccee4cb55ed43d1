// Logs of RMM.
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
  return {bytes(log.begin(), log.end())};
}

}  // namespace
}  // namespace sluice::fuzz::rmm_csv

sluice::fuzz::target sluice::fuzz::rmm_csv_target() { return {"rmm_csv", rmm_csv::run, rmm_csv::seeds}; }
