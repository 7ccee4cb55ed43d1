// What the panel of copies lists, without a display.
#include "app/gui/views/views.hpp"
#include "core/base/format.hpp"
#include "core/metrics/code_place.hpp"
#include "core/metrics/link_share.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/results/panels/transfers.hpp"
#include "core/trace/model/names.hpp"
#include "tests/gui/panel_fixture.hpp"

namespace sluice::test {
namespace {

class transfer_words : public panel_test {
 protected:
  void SetUp() override { open(); }
  std::string words() { return read(*panel); }
  query::engine& engine() { return *state.active()->engine; }

  std::unique_ptr<gui::view> panel = gui::make_transfers_view();
};

TEST_F(transfer_words, have_the_metrics_of_the_report) {
  const std::string found = words();
  const auto report = engine().ask_now(query::report_query{}).value();
  ASSERT_EQ(report->whole.transfers.size(), 2U);
  for (const metrics::transfer_statistics& way : report->whole.transfers)
    for (const std::string& metric :
         {std::string(get_name(way.direction)), format_bytes(way.bytes), format_count(way.count), format_time(way.busy),
          format_rate(way.mean_bandwidth), format_share(*metrics::link_share(way.mean_bandwidth, way.link_peak))})
      EXPECT_NE(found.find(metric), std::string::npos) << metric << " in\n" << found;
}

TEST_F(transfer_words, name_the_lines_that_copy) {
  const std::string found = words();
  const auto table = engine().ask_now(query::transfers_query{state.active()->span}).value();
  ASSERT_EQ(table->lines.size(), 2U);
  for (const metrics::copy_line& line : table->lines) {
    EXPECT_NE(found.find(to_text(line.place)), std::string::npos) << to_text(line.place) << " in\n" << found;
    EXPECT_NE(found.find(format_time(line.busy)), std::string::npos);
  }
  EXPECT_NE(found.find("record with"), std::string::npos) << "a hint, since the contents were not compared";
}

TEST_F(transfer_words, are_about_the_selected_range) {
  const time_range part{0, 10 * sample::chunk_ns};
  state.select_range(part);
  const std::string found = words();
  const auto metrics = engine().ask_now(query::statistics_query{part}).value();
  for (const metrics::transfer_statistics& way : metrics->transfers)
    EXPECT_NE(found.find(format_bytes(way.bytes)), std::string::npos) << found;
  EXPECT_NE(found.find("Selected range"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
