// Imports memory_record.csv of Ascend's profiler.
#include <gmock/gmock.h>

#include "tests/core/import/brought_file.hpp"

namespace sluice::importing::ascend_memory {
namespace {

using testing::brought_file;
using ::testing::HasSubstr;
using testing::to_number;

constexpr const char* header =
    "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n";
constexpr std::uint64_t mib = 1 << 20;

TEST(memory_record, has_the_sums_of_allocators) {
  const brought_file file("memory_record.csv", std::string(header) +
                                                   "PTA,1700000000000000.250\t,10.5,20.0,10.5,,NPU:3\n"
                                                   "PTA,1700000000000010.250\t,30,40,30,,NPU:3\n"
                                                   "GE,1700000000000015\t,4,4,4,,NPU:3\n"
                                                   "PTA+GE,1700000000000015\t,34,44,34,,NPU:3\n"
                                                   "APP,1700000000000016\t,,100,,,NPU:3\n"
                                                   "PTA,1700000000000020.250\t,12.5,40,30,,NPU:3\n");
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.imported().from, format::ascend_memory);
  EXPECT_EQ(file.framework().maximum, 34 * mib);
  EXPECT_EQ(file.framework().at_end, 16 * mib + mib / 2);
  EXPECT_EQ(file.driver().maximum, 100 * mib);
  EXPECT_EQ(file.report().span.length(), 20'001);
  const auto& devices = file.file().latest()->tables().devices.rows();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].ordinal, 3);
  EXPECT_THAT(file.messages(), HasSubstr("instead of blocks"));
  EXPECT_TRUE(file.imported().not_understood.empty());
}

TEST(memory_record, counts_lines_that_are_wrong) {
  const brought_file file("memory_record.csv", std::string(header) +
                                                   "PTA,100,1,1,1,,NPU:0\n"
                                                   "PTA,never,1,1,1,,NPU:0\nPTA,101,-1,1,1,,NPU:0\nPTA,102\n\n"
                                                   "PTA,103,nan,1,1,,NPU:0\nPTA,104,1e300,1,1,,NPU:0\n"
                                                   "PTA,99,1,1,1,,NPU:0\nPTA,1e18,1,1,1,,NPU:0\n" +
                                                   std::string(600'000, ','));
  ASSERT_TRUE(file.is_read()) << file.refusal();
  EXPECT_EQ(file.framework().maximum, mib);
  const auto& counts = file.imported().not_understood;
  EXPECT_EQ(to_number(counts, "lines with a time before the first or more than a year after it"), 1U);
  EXPECT_EQ(to_number(counts, "lines"), 7U);
}

TEST(memory_record, may_be_empty) {
  const brought_file file("memory_record.csv", header);
  EXPECT_TRUE(file.is_read()) << file.refusal();
}

}  // namespace
}  // namespace sluice::importing::ascend_memory
