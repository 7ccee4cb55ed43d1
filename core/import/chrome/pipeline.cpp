#include "core/import/chrome/pipeline.hpp"

#include <new>

namespace sluice::importing {

chrome_pipeline::chrome_pipeline(input& source) : document_(source) {
  for (auto& piece : pieces_) {
    piece = std::make_unique<chrome_parsed>();
    free_.put(piece.get());
  }
  auto started = reading_.start([this] { read(); });
  if (started) started = parsing_.start([this] { parse(); });
  if (started) return;
  stop();
  outcome_ = started;
}

chrome_pipeline::~chrome_pipeline() { stop(); }

void chrome_pipeline::stop() {
  free_.close(true);
  read_.close(true);
  parsed_.close(true);
  reading_.join();
  parsing_.join();
}

void chrome_pipeline::read() {
  try {
    for (chrome_parsed* piece = nullptr; free_.take(piece);) {
      outcome_ = document_.next(piece->piece);
      if (!outcome_ || piece->piece.holds == chrome_piece::content_kind::end || !read_.put(piece)) break;
    }
  } catch (const std::bad_alloc&) {
    outcome_ = fail(error_code::unavailable, "there is not enough memory to read an event of this length", {}, {},
                    document_.offset());
  }
  read_.close();
}

void chrome_pipeline::parse() {
  try {
    for (chrome_parsed* piece = nullptr; read_.take(piece);) {
      piece->batch.clear();
      if (piece->piece.holds == chrome_piece::content_kind::events) piece->parser.parse(piece->piece, piece->batch);
      if (!parsed_.put(piece)) break;
    }
  } catch (const std::bad_alloc&) {
    read_.close(true);
    free_.close(true);  // This ends the reader. `memory_short_` reports the missing pieces.
    memory_short_ = true;
  }
  parsed_.close();
}

const chrome_parsed* chrome_pipeline::next() {
  if (given_ != nullptr) free_.put(given_);
  if (parsed_.take(given_)) return given_;
  given_ = nullptr;
  stop();
  if (memory_short_ && outcome_) {
    outcome_ = fail(error_code::unavailable, "there is not enough memory to parse it", {}, {}, document_.offset());
  }
  return nullptr;
}

}  // namespace sluice::importing
