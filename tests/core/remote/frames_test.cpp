// Extracts the protocol's frames from streams of untrusted bytes.
#include "core/remote/frames.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::remote {
namespace {

std::vector<std::byte> two_frames() {
  std::vector<std::byte> bytes;
  put_frame(bytes, frame_kind::look, 7, get_bytes(look_message{3}));
  put_frame(bytes, frame_kind::read, 8, get_bytes(read_message{1, 2, 3, 0}));
  return bytes;
}

TEST(frames, come_out_as_they_went_in_however_the_stream_is_cut) {
  const auto stream = two_frames();
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    frame_buffer buffer(1024);
    std::vector<frame> found;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      buffer.add(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      for (auto next = buffer.next(); next && *next; next = buffer.next()) found.push_back(std::move(**next));
    }
    ASSERT_EQ(found.size(), 2U) << piece;
    EXPECT_EQ(found[0].kind, frame_kind::look);
    EXPECT_EQ(found[0].id, 7U);
    EXPECT_EQ(message_in<look_message>(found[0].payload)->generation, 3U);
    EXPECT_EQ(found[1].kind, frame_kind::read);
    EXPECT_EQ(message_in<read_message>(found[1].payload)->bytes, 3U);
    EXPECT_TRUE(buffer.empty());
  }
}

TEST(frames, that_are_too_long_end_the_stream_before_anything_of_them_is_kept) {
  frame_header header;
  header.kind = 1;
  header.bytes = std::numeric_limits<std::uint32_t>::max();
  frame_buffer buffer(1024);
  buffer.add(get_bytes(header));
  EXPECT_EQ(buffer.next().error().code, error_code::corrupt);
}

TEST(frames, with_an_invalid_header_end_the_stream) {
  frame_header header;
  header.zero = 1;
  frame_buffer buffer(1024);
  buffer.add(get_bytes(header));
  EXPECT_EQ(buffer.next().error().code, error_code::corrupt);
}

TEST(frames, a_message_that_is_cut_short_is_none) {
  const std::byte few[7]{};
  EXPECT_FALSE(message_in<look_message>(few));
}

TEST(frames, a_failure_keeps_its_code_and_one_line_of_bounded_length) {
  std::vector<std::byte> bytes;
  put_failure(bytes, 1, {error_code::corrupt, std::string(100'000, 'x'), {}, error::no_offset, {}});
  frame_buffer buffer(2000);
  buffer.add(bytes);
  const auto next = buffer.next();
  ASSERT_TRUE(next && *next);
  const error back = failure_in((*next)->payload, "host");
  EXPECT_EQ(back.code, error_code::corrupt);
  EXPECT_EQ(back.file, "host");
  EXPECT_LE(back.message.size(), 1000U);
  EXPECT_EQ(failure_in({}, "host").code, error_code::corrupt);
  const std::uint32_t none = 4'000'000'000;
  EXPECT_NE(failure_in(get_bytes(none), "host").code, error_code::cancelled);
}

TEST(frames, a_failure_of_a_stranger_is_one_printable_line_of_bounded_length) {
  const auto said = [](const std::string& text) {
    std::vector<std::byte> payload(sizeof(std::uint32_t));
    const auto bytes = std::as_bytes(std::span(text));
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    return failure_in(payload, "host").message;
  };
  EXPECT_EQ(said("no such file"), "no such file");
  EXPECT_EQ(said("first\r\nsecond"), "first");
  EXPECT_EQ(said("a\x1b[31m\x07\xe2\x80\xae b\xff"), "a\\x1b[31m\\x07\\u{202e} b\\xff");
  const std::string endless = said(std::string(10'000'000, '\x1b'));
  EXPECT_EQ(endless.size(), 1000U);
  EXPECT_TRUE(endless.ends_with("..."));
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\u00fc";
  EXPECT_LE(said(wide).size(), 1000U);
  EXPECT_TRUE(said(wide).ends_with("\u00fc...")) << said(wide);
}

}  // namespace
}  // namespace sluice::remote
