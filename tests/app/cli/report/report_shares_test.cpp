#include <gmock/gmock.h>

#include "app/cli/report/report_output.hpp"
#include "core/metrics/make_report.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;
using testing::indexed;
using testing::ms;
using testing::recording;

TEST(report_of_little_work, has_no_share_of_the_active_time_for_a_range_that_is_longer) {
  recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(350 * ms, 350 * ms + 1760, "k");
  recorded.add_range(0, 13'000 * ms, "epoch");
  recorded.close();
  const indexed loaded(recorded.open());
  const std::string text =
      report_text({metrics::make_report(loaded.index, *loaded.snapshot), loaded.snapshot->tables(), "epoch.sluice"});
  EXPECT_THAT(text, HasSubstr("  13.0 s               -      1   13.0 s  epoch"));
  EXPECT_THAT(text, HasSubstr("busy 100 % of the time after start-up"));
}

}  // namespace
}  // namespace sluice::cli
