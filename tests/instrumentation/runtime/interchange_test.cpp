#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "instrumentation/runtime/cai.hpp"
#include "instrumentation/runtime/dlpack.hpp"
#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/complains.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

// Exchange of arrays with other libraries: the guarantees, and the inputs that are rejected.
// tests/device/check_interchange.py tests the same with CuPy and PyTorch.

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max();

// A tensor as exported by another library, which counts the calls of its deleter.
template <class Managed>
struct producer {
  producer(void* data, std::vector<std::int64_t> extents, dlpack::data_type type = {dlpack::type_float, 32, 1})
      : shape(std::move(extents)) {
    managed.dl_tensor = {data, {dlpack::cuda, 0}, static_cast<std::int32_t>(shape.size()), type, shape.data(), nullptr,
                         0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<producer*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {1, 0};
  }
  dlpack::tensor& tensor() { return managed.dl_tensor; }

  Managed managed{};
  std::vector<std::int64_t> shape, strides;
  std::atomic<int> deleted{0};
};
using unversioned = producer<dlpack::managed_tensor>;
using versioned = producer<dlpack::managed_tensor_versioned>;

class interchange : public on_each_device {
 protected:
  // 64 MiB would hide an overrun; this block has exactly the tested length.
  void SetUp() override {
    on_each_device::SetUp();
    if (IsSkipped()) return;
    block = device_buffer(6 * sizeof(float));
    ordinal = static_cast<std::int32_t>(device().description().ordinal);
  }
  void TearDown() override {
    block.reset();
    on_each_device::TearDown();
  }

  device_buffer block;
  std::int32_t ordinal = 0;
};
SLUICE_ON_EACH_DEVICE(interchange);

// --- DLPack ------------------------------------------------------------------------------------------------

TEST_P(interchange, takes_a_tensor_over_without_a_copy_and_deletes_it_once) {
  unversioned source(block.data(), {2, 3});
  {
    device_array<float, 1> part;
    {
      const any_array a = from_dlpack(&source.managed);
      EXPECT_EQ(a.data(), block.data());
      EXPECT_EQ(to_string(a.type()), "float32");
      EXPECT_THAT(a.strides(), ElementsAre(3, 1)) << "null strides mean C order";
      part = a.as<float, 2>().slice(0, 1, 2).ravel();
    }
    EXPECT_EQ(source.deleted, 0) << "a part of it is still referenced";
    std::thread([p = std::move(part)] {}).join();
  }
  EXPECT_EQ(source.deleted, 1);
}

TEST_P(interchange, takes_strides_in_elements_and_offsets_in_bytes) {
  versioned source(block.data(), {2, 2});
  source.strides = {1, 3};
  source.tensor().strides = source.strides.data();
  source.tensor().byte_offset = sizeof(float);
  const auto a = from_dlpack(&source.managed).as<float, 2>();
  EXPECT_EQ(a.data(), static_cast<float*>(block.data()) + 1);
  EXPECT_THAT(a.strides(), ElementsAre(1, 3));

  versioned backwards(block.data(), {6});
  backwards.strides = {-1};
  backwards.tensor().strides = backwards.strides.data();
  backwards.tensor().byte_offset = 5 * sizeof(float);
  EXPECT_EQ((from_dlpack(&backwards.managed).as<float, 1>().stride(0)), -1);
}

TEST_P(interchange, accepts_pinned_and_managed_memory_and_none_at_all) {
  const pinned_buffer pinned(24);
  versioned a(pinned.data(), {6});
  a.tensor().device = {dlpack::cuda_host, 0};
  EXPECT_EQ(from_dlpack(&a.managed).space(), memory_space::pinned);
  const managed_buffer managed(24);
  versioned b(managed.data(), {6});
  b.tensor().device = {dlpack::cuda_managed, 0};
  EXPECT_EQ(from_dlpack(&b.managed).space(), memory_space::managed);
  versioned nothing(nullptr, {3, 0});
  EXPECT_EQ((from_dlpack(&nothing.managed).as<float, 2>().size()), 0u);
  EXPECT_EQ(nothing.deleted, 1) << "an empty tensor also has an owner";
  versioned single(block.data(), {});
  single.tensor().shape = nullptr;
  EXPECT_EQ((from_dlpack(&single.managed).as<float, 0>().size()), 1u);
  versioned ownerless(block.data(), {6});
  ownerless.managed.deleter = nullptr;
  EXPECT_NO_THROW((void)from_dlpack(&ownerless.managed));
}

TEST_P(interchange, refuses_hostile_tensors_and_leaves_them_to_their_owner) {
  const auto refused = [&](const std::string& why, auto&& spoil) {
    versioned source(block.data(), {2, 3});
    source.strides = {3, 1};
    source.tensor().strides = source.strides.data();
    source.tensor().device.id = ordinal;
    spoil(source);
    complains(why, [&] { (void)from_dlpack(&source.managed); });
    EXPECT_EQ(source.deleted, 0) << why;
  };
  refused("-1 axes", [](versioned& v) { v.tensor().ndim = -1; });
  refused("2147483647 axes", [](versioned& v) { v.tensor().ndim = 2147483647; });
  refused("no shape", [](versioned& v) { v.tensor().shape = nullptr; });
  refused("negative extent", [](versioned& v) { v.shape[1] = -3; });
  refused("exceeds the address space", [](versioned& v) { v.shape = {big, 2}, v.tensor().shape = v.shape.data(); });
  refused("past 64 bits", [](versioned& v) { v.strides[0] = big; });
  refused("exceed the block", [](versioned& v) { v.strides[0] = 1 << 20; });
  refused("exceed the block", [](versioned& v) { v.shape[0] = 1 << 20; });
  refused("bytes before", [](versioned& v) { v.strides[0] = -(big / 16); });
  refused("exceeds the address space", [](versioned& v) { v.tensor().byte_offset = UINT64_MAX; });
  refused("not aligned", [](versioned& v) { v.tensor().byte_offset = 2, v.shape[0] = 1; });
  refused("4 lanes", [](versioned& v) { v.tensor().dtype.lanes = 4; });
  refused("4 bits", [](versioned& v) { v.tensor().dtype.bits = 4; });
  refused("0 bits", [](versioned& v) { v.tensor().dtype.bits = 0; });
  refused("type code 3", [](versioned& v) { v.tensor().dtype.code = 3; });
  refused("ordinary host memory", [](versioned& v) { v.tensor().device.type = dlpack::cpu; });
  refused("device type 10", [](versioned& v) { v.tensor().device.type = 10; });
  refused("on device 7", [](versioned& v) { v.tensor().device.id = 7; });
  refused("does not match device type 3", [](versioned& v) { v.tensor().device.type = dlpack::cuda_host; });
  refused("null", [](versioned& v) { v.tensor().data = nullptr; });
  refused("ordinary host memory", [](versioned& v) { v.tensor().data = &v; });
  refused("DLPack version 2.0", [](versioned& v) { v.managed.version.major = 2; });
  complains("null", [] { (void)from_dlpack(static_cast<dlpack::managed_tensor*>(nullptr)); });
}

TEST_P(interchange, keeps_read_only_tensors_from_being_written) {
  versioned source(block.data(), {6});
  source.managed.flags = dlpack::flag_read_only;
  const any_array a = from_dlpack(&source.managed);
  EXPECT_TRUE(a.read_only());
  complains("use const elements", [&] { (void)a.as<float, 1>(); });
  const device_array<const float, 1> readable = a.as<const float, 1>();
  EXPECT_EQ(readable.size(), 6u);
  complains("cannot express", [&] { (void)to_dlpack(a); });
  auto* const again = to_dlpack_versioned(readable);
  EXPECT_EQ(again->flags, dlpack::flag_read_only);
  again->deleter(again);
}

TEST_P(interchange, checks_the_type_and_the_rank_that_are_asked_for) {
  versioned source(block.data(), {6}, {dlpack::type_int, 32, 1});
  const any_array a = from_dlpack(&source.managed);
  complains("the elements are int32, not float32", [&] { (void)a.as<float, 1>(); });
  complains("the array has 1 axes, not 2", [&] { (void)a.as<std::int32_t, 2>(); });
  EXPECT_NO_THROW((void)(a.as<std::int32_t, 1>()));
}

TEST_P(interchange, hands_arrays_out_that_live_until_the_consumer_deletes_them) {
  dlpack::managed_tensor* out = nullptr;
  const void* data = nullptr;
  const auto before = device().memory().free_bytes;
  {
    const device_array<std::complex<double>, 3> a({64, 128, 256}, storage_order::f);
    data = a.data();
    out = to_dlpack(a);
  }
  EXPECT_EQ(out->dl_tensor.data, data);
  EXPECT_EQ(out->dl_tensor.device.type, dlpack::cuda);
  EXPECT_EQ(out->dl_tensor.dtype.code, dlpack::type_complex);
  EXPECT_EQ(out->dl_tensor.dtype.bits, 128);
  EXPECT_EQ(out->dl_tensor.ndim, 3);
  EXPECT_EQ(out->dl_tensor.shape[2], 256);
  EXPECT_EQ(out->dl_tensor.strides[2], 64 * 128);
  EXPECT_EQ(find_memory_space(data), memory_space::device) << "the memory is still allocated";
  const any_array back = from_dlpack(out);
  EXPECT_EQ((back.as<std::complex<double>, 3>().data()), data) << "a round trip does not copy";
  EXPECT_LE(device().memory().free_bytes, before - (std::uint64_t{1} << 25));
}

// --- the CUDA array interface ------------------------------------------------------------------------------

struct foreign_object {
  cai_description described;
  [[nodiscard]] cai_description cuda_array_interface() const { return described; }
};
static_assert(has_cai<foreign_object>);
static_assert(!has_cai<int>);

TEST_P(interchange, reads_the_cuda_array_interface_without_a_copy) {
  auto owner = std::make_shared<int>(1);
  const foreign_object object{{.shape = {2, 3},
                               .typestr = "<f4",
                               .data = reinterpret_cast<std::uintptr_t>(block.data()),
                               .strides = std::vector<std::int64_t>{4, 8}}};
  {
    const any_array a = import_cai(object, owner);
    EXPECT_EQ(a.data(), block.data());
    EXPECT_THAT(a.strides(), ElementsAre(1, 2)) << "bytes in the interface, elements in the view";
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_TRUE((a.as<float, 2>().is_f_contiguous()));
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_P(interchange, knows_the_interfaces_element_types) {
  const std::vector<std::pair<std::string, std::string>> known = {
      {"|b1", "bool"},    {"|u1", "uint8"},   {"|i1", "int8"},      {"<i2", "int16"},       {"<u8", "uint64"},
      {"<f2", "float16"}, {"<f8", "float64"}, {"<c8", "complex64"}, {"<c16", "complex128"}, {"<i1", "int8"}};
  for (const auto& [text, name] : known) {
    const any_array a =
        import_cai({.shape = {1}, .typestr = text, .data = reinterpret_cast<std::uintptr_t>(block.data())});
    EXPECT_EQ(to_string(a.type()), name);
    EXPECT_EQ(export_cai(a).typestr, text == "<i1" ? "|i1" : text);
  }
}

TEST_P(interchange, refuses_interfaces_that_cannot_be_believed) {
  const auto refused = [&](const std::string& why, auto&& spoil) {
    cai_description description{
        .shape = {2, 3}, .typestr = "<f4", .data = reinterpret_cast<std::uintptr_t>(block.data())};
    spoil(description);
    complains(why, [&] { (void)import_cai(description); });
  };
  using cai = cai_description;
  refused("version 1", [](cai& c) { c.version = 1; });
  refused("masked", [](cai& c) { c.masked = true; });
  refused("1 (legacy) or 2 (per-thread default stream)", [](cai& c) { c.stream = 0; });
  refused("little-endian", [](cai& c) { c.typestr = ">f4"; });
  refused("little-endian", [](cai& c) { c.typestr = "|f4"; });
  for (const char* text : {"", "<", "<f", "<f0", "<f-4", "<fx", "<f99", "<O8", "<f4x", "<f99999999999"}) {
    refused(std::string("element type '") + text + "'", [&](cai& c) { c.typestr = text; });
  }
  refused("2 extents but 1 strides", [](cai& c) { c.strides = std::vector<std::int64_t>{4}; });
  refused("not a multiple of the element size", [](cai& c) { c.strides = std::vector<std::int64_t>{12, 2}; });
  refused("exceed the block", [](cai& c) { c.shape = {2, 400}; });
  refused("negative extent", [](cai& c) { c.shape = {-2, 3}; });
  refused("exceeds the address space", [](cai& c) { c.shape = {big, big}; });
  refused("null", [](cai& c) { c.data = 0; });
}

TEST_P(interchange, describes_its_own_arrays) {
  const device_array<std::uint16_t, 2> a({4, 5});
  const cai_description c = export_cai(a);
  EXPECT_THAT(c.shape, ElementsAre(4, 5));
  EXPECT_EQ(c.typestr, "<u2");
  EXPECT_EQ(c.data, reinterpret_cast<std::uintptr_t>(a.data()));
  EXPECT_FALSE(c.strides.has_value());
  EXPECT_FALSE(c.stream.has_value());
  EXPECT_FALSE(c.read_only);
  EXPECT_EQ(c.version, 3);
  EXPECT_THAT(*export_cai(a.transpose()).strides, ElementsAre(2, 10));
  EXPECT_EQ(import_cai(c).data(), a.data());
}

TEST_P(interchange, says_on_which_stream_an_array_is_ready) {
  const stream s;
  const device_array<float, 1> a({16});
  EXPECT_EQ(export_cai(a, default_stream()).stream, 1) << "0 would be ambiguous";
  EXPECT_EQ(export_cai(a, s).stream, static_cast<std::int64_t>(stream_ref(s).get()));
}

TEST_P(interchange, waits_on_the_device_for_the_exporters_stream) {
  const stream producer, consumer;
  constexpr std::size_t count = 1 << 22;
  const pinned_array<std::uint32_t, 1> in({count}), out({count});
  std::iota(in.span().begin(), in.span().end(), 0u);
  const device_array<std::uint32_t, 1> a({count}, storage_order::c, producer);
  set_async(a.data(), 0xff, a.size_bytes(), producer);
  producer.sync();
  copy_async(a.data(), in.data(), in.size_bytes(), producer);
  const auto described = export_cai(a, producer);
  const auto b = import_cai(described, {}, consumer).as<std::uint32_t, 1>();
  copy_to_host(b, out.view(), consumer).sync();
  EXPECT_EQ(out(count - 1), count - 1) << "the copy waited for the exporter's";
}

}  // namespace
}  // namespace sluice::runtime
