// Small CUDA programs about copies and waits. faults_memory.cu has the main function.
#include <array>
#include <future>

#include "measure.cuh"

using namespace measure;

namespace {

constexpr cudaMemcpyKind upward = cudaMemcpyHostToDevice;

// CUDA C++ Best Practices Guide, "Pinned Memory"
PROGRAM(cuda_pageable_frames) {
  const std::size_t bytes = 64 * mib;
  float* host = faulty ? filled_host(bytes, 1) : filled_pinned(bytes, 1);
  float* frame = nullptr;
  DEVICE_ALLOC(frame, bytes);
  timer.start();
  for (int step = 0; step < 16; ++step) {
    CHECK(cudaMemcpy(frame, host, bytes, cudaMemcpyHostToDevice));  // fault cuda_pageable_frames
    launch_work(frame, frame, bytes, 200);
    CHECK(cudaMemcpy(host, frame, bytes, cudaMemcpyDeviceToHost));  // fault cuda_pageable_frames
  }
  timer.stop();
  DEVICE_FREE(frame);
  if (faulty) {
    std::free(host);
  } else {
    CHECK(cudaFreeHost(host));
  }
}

/// Uploads frames from three pinned buffers and computes on them, in the given streams.
void uploads(measure::timer& timer, const std::array<cudaStream_t, 3>& streams) {
  const std::size_t bytes = 48 * mib;
  float *host[3], *frame[3];
  for (int i = 0; i < 3; ++i) {
    host[i] = filled_pinned(bytes, static_cast<float>(i));
    DEVICE_ALLOC(frame[i], bytes);
  }
  timer.start();
  for (int step = 0; step < 30; ++step) {
    const int i = step % 3;
    const cudaStream_t stream = streams[i];
    CHECK(cudaMemcpyAsync(frame[i], host[i], bytes, upward, stream));  // fault cuda_one_stream cuda_default_stream
    launch_work(frame[i], frame[i], bytes, 2500, stream);
  }
  timer.stop();
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaFreeHost(host[i]));
    DEVICE_FREE(frame[i]);
  }
}

// NVIDIA technical blog, "How to Overlap Data Transfers in CUDA C/C++": the sequential version
PROGRAM(cuda_one_stream) {
  std::array<cudaStream_t, 3> streams{};
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const cudaStream_t first = streams[0];
  uploads(timer, faulty ? std::array<cudaStream_t, 3>{first, first, first} : streams);
  for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
}

// NVIDIA technical blog, "How to Overlap Data Transfers in CUDA C/C++", section "The default stream"
PROGRAM(cuda_default_stream) {
  std::array<cudaStream_t, 3> streams{};
  if (!faulty) {
    for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  uploads(timer, streams);
  if (!faulty) {
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
  }
}

// NVIDIA developer forums thread 238833, "cudaMemcpyAync with pageable memory overlap with kernel"
PROGRAM(cuda_pageable_async) {
  const std::size_t bytes = 48 * mib;
  cudaStream_t streams[2];
  float *host[2], *frame[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    host[i] = faulty ? filled_host(bytes, 1) : filled_pinned(bytes, 1);
    DEVICE_ALLOC(frame[i], bytes);
  }
  timer.start();
  for (int step = 0; step < 20; ++step) {
    const int i = step % 2;
    CHECK(cudaMemcpyAsync(frame[i], host[i], bytes, upward, streams[i]));  // fault cuda_pageable_async
    launch_work(frame[i], frame[i], bytes, 2500, streams[i]);
  }
  timer.stop();
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamDestroy(streams[i]));
    DEVICE_FREE(frame[i]);
    if (faulty) {
      std::free(host[i]);
    } else {
      CHECK(cudaFreeHost(host[i]));
    }
  }
}

// CUDA C++ Best Practices Guide, "Asynchronous and Overlapping Transfers with Computation"
PROGRAM(cuda_wait_after_upload) {
  const std::size_t bytes = 48 * mib;
  cudaStream_t streams[2];
  float *host[2], *frame[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    host[i] = filled_pinned(bytes, 1);
    DEVICE_ALLOC(frame[i], bytes);
  }
  timer.start();
  for (int step = 0; step < 30; ++step) {
    const int i = step % 2;
    CHECK(cudaMemcpyAsync(frame[i], host[i], bytes, upward, streams[i]));  // fault cuda_wait_after_upload
    launch_work(frame[i], frame[i], bytes, 2500, streams[i]);
    if (faulty) CHECK(cudaStreamSynchronize(streams[i]));  // fault cuda_wait_after_upload
  }
  timer.stop();
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamDestroy(streams[i]));
    CHECK(cudaFreeHost(host[i]));
    DEVICE_FREE(frame[i]);
  }
}

// Rodinia and many beginners' CUDA programs: a synchronization after each kernel, to check for errors
PROGRAM(cuda_wait_after_kernel) {
  const std::size_t bytes = 4 * mib;
  float *a = nullptr, *b = nullptr, *archive = nullptr;
  DEVICE_ALLOC(a, bytes);
  DEVICE_ALLOC(b, bytes);
  DEVICE_ALLOC(archive, 64 * mib);
  CHECK(cudaMemset(a, 0, bytes));
  timer.start();
  for (int step = 0; step < 600; ++step) {
    launch_work(b, a, bytes, 20);
    if (faulty) CHECK(cudaDeviceSynchronize());  // fault cuda_wait_after_kernel
    launch_work(a, b, bytes, 20);
    if (faulty) CHECK(cudaDeviceSynchronize());  // fault cuda_wait_after_kernel
  }
  for (int part = 0; part < 16; ++part) {
    CHECK(cudaMemcpyAsync(archive + part * mib, a, bytes, cudaMemcpyDeviceToDevice));
  }
  timer.stop();
  DEVICE_FREE(a);
  DEVICE_FREE(b);
  DEVICE_FREE(archive);
}

// CUDA Runtime API, "API synchronization behavior": an asynchronous copy to pageable memory returns when it is complete
PROGRAM(cuda_flag_on_stack) {
  const std::size_t bytes = 32 * mib;
  float *field = nullptr, *pinned = nullptr;
  DEVICE_ALLOC(field, bytes);
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 256 * sizeof(float)));
  CHECK(cudaMemset(field, 0, bytes));
  std::vector<float> notes(1 << 16);
  float residual = 1;
  timer.start();
  for (int step = 0; step < 100; ++step) {
    launch_work(field, field, bytes, 1000);
    if (faulty) {
      CHECK(cudaMemcpyAsync(&residual, field, sizeof residual, cudaMemcpyDeviceToHost));  // fault cuda_flag_on_stack
    } else {
      CHECK(cudaMemcpyAsync(pinned + step, field, sizeof residual, cudaMemcpyDeviceToHost));
    }
    for (std::size_t i = 0; i < notes.size(); ++i) notes[i] = static_cast<float>((i * 7919 + step) % 4093);
    std::partial_sort(notes.begin(), notes.begin() + 256, notes.end());
  }
  timer.stop();
  if (!faulty) residual = pinned[99];
  std::printf("residual %g, notes %g\n", residual, notes[0]);
  CHECK(cudaFreeHost(pinned));
  DEVICE_FREE(field);
}

// DrGPUM and value profilers (ValueExpert, ASPLOS 2022): zeros made on the host and copied
PROGRAM(cuda_upload_zeros) {
  const std::size_t bytes = 64 * mib;
  float* zeros = filled_pinned(bytes, 0);
  float* histogram = nullptr;
  DEVICE_ALLOC(histogram, bytes);
  timer.start();
  for (int step = 0; step < 24; ++step) {
    if (faulty) {
      CHECK(cudaMemcpyAsync(histogram, zeros, bytes, cudaMemcpyHostToDevice));  // fault cuda_upload_zeros
    } else {
      CHECK(cudaMemsetAsync(histogram, 0, bytes));
    }
    launch_work(histogram, histogram, bytes, 500);
  }
  timer.stop();
  CHECK(cudaFreeHost(zeros));
  DEVICE_FREE(histogram);
}

// CUDA C++ Best Practices Guide, "Data Transfer Between Host and Device": data that does not change is copied once
PROGRAM(cuda_weights_each_call) {
  const std::size_t bytes = 64 * mib;
  float* weights = filled_pinned(bytes, 0.5F);
  for (std::size_t i = 0; i < bytes / sizeof(float); ++i) weights[i] = static_cast<float>(i % 1021);
  float *stored = nullptr, *out = nullptr;
  DEVICE_ALLOC(stored, bytes);
  DEVICE_ALLOC(out, bytes);
  CHECK(cudaMemcpy(stored, weights, bytes, cudaMemcpyHostToDevice));
  timer.start();
  for (int call = 0; call < 24; ++call) {
    if (faulty) CHECK(cudaMemcpyAsync(stored, weights, bytes, cudaMemcpyHostToDevice));  // fault cuda_weights_each_call
    launch_work(out, stored, bytes, 1000);
  }
  timer.stop();
  CHECK(cudaFreeHost(weights));
  DEVICE_FREE(stored);
  DEVICE_FREE(out);
}

// CUDA C++ Best Practices Guide: intermediate data should stay in device memory
PROGRAM(cuda_result_down_and_up) {
  const std::size_t bytes = 64 * mib;
  float* host = filled_pinned(bytes, 0);
  float *first = nullptr, *second = nullptr;
  DEVICE_ALLOC(first, bytes);
  if (faulty) DEVICE_ALLOC(second, bytes);
  CHECK(cudaMemcpy(first, host, bytes, cudaMemcpyHostToDevice));
  timer.start();
  for (int step = 0; step < 16; ++step) {
    launch_work(first, first, bytes, 500);
    if (faulty) {
      CHECK(cudaMemcpy(host, first, bytes, cudaMemcpyDeviceToHost));   // fault cuda_result_down_and_up
      CHECK(cudaMemcpy(second, host, bytes, cudaMemcpyHostToDevice));  // fault cuda_result_down_and_up
      launch_work(first, second, bytes, 500);
    } else {
      launch_work(first, first, bytes, 500);
    }
  }
  timer.stop();
  CHECK(cudaFreeHost(host));
  DEVICE_FREE(first);
  if (faulty) DEVICE_FREE(second);
}

// CUDA C++ Best Practices Guide: many small transfers should be batched into one
PROGRAM(cuda_row_by_row) {
  constexpr std::size_t rows = 1500, row_bytes = 4096;
  float* host = filled_pinned(rows * row_bytes, 2);
  float *matrix = nullptr, *out = nullptr;
  DEVICE_ALLOC(matrix, 64 * mib);
  DEVICE_ALLOC(out, 64 * mib);
  CHECK(cudaMemset(matrix, 0, 64 * mib));
  timer.start();
  if (faulty) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t offset = row * row_bytes / sizeof(float);
      CHECK(cudaMemcpyAsync(matrix + offset, host + offset, row_bytes, upward));  // fault cuda_row_by_row
    }
  } else {
    CHECK(cudaMemcpyAsync(matrix, host, rows * row_bytes, cudaMemcpyHostToDevice));
  }
  launch_work(out, matrix, 64 * mib, 500);
  timer.stop();
  CHECK(cudaFreeHost(host));
  DEVICE_FREE(matrix);
  DEVICE_FREE(out);
}

std::vector<float> parsed(int part) {
  std::vector<float> values(1 << 18);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7919 + part * 131) % 65521);
  std::sort(values.begin(), values.end());
  return values;
}

// CUDA C++ Best Practices Guide, "Heterogeneous computing": the device waits while the host prepares the next part
PROGRAM(cuda_parse_between_kernels) {
  constexpr int parts = 16;
  const std::size_t bytes = (std::size_t{1} << 18) * sizeof(float);
  float *input = nullptr, *field = nullptr, *staging = filled_pinned(bytes, 0);
  DEVICE_ALLOC(input, bytes);
  DEVICE_ALLOC(field, 128 * mib);
  CHECK(cudaMemset(field, 0, 128 * mib));
  timer.start();
  std::vector<std::future<std::vector<float>>> ahead;
  for (int part = 0; part < parts && !faulty; ++part) ahead.push_back(std::async(std::launch::async, parsed, part));
  for (int part = 0; part < parts; ++part) {
    const std::vector<float> values = faulty ? parsed(part) : ahead[part].get();  // fault cuda_parse_between_kernels
    CHECK(cudaStreamSynchronize(nullptr));
    std::copy(values.begin(), values.end(), staging);
    CHECK(cudaMemcpyAsync(input, staging, bytes, cudaMemcpyHostToDevice));
    launch_work(input, input, bytes, 100);
    launch_work(field, field, 128 * mib, 1500);
  }
  timer.stop();
  CHECK(cudaFreeHost(staging));
  DEVICE_FREE(input);
  DEVICE_FREE(field);
}

// --- without a planted fault ---------------------------------------------------------------------------------------

CLEAN_PROGRAM(cuda_clean_double_buffer) {
  const std::size_t bytes = 48 * mib;
  cudaStream_t streams[2];
  float *in[2], *out[2], *frame[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    in[i] = filled_pinned(bytes, static_cast<float>(i));
    out[i] = filled_pinned(bytes, 0);
    DEVICE_ALLOC(frame[i], bytes);
  }
  timer.start();
  for (int step = 0; step < 40; ++step) {
    const int i = step % 2;
    CHECK(cudaStreamSynchronize(streams[i]));  // The buffers of two steps ago are free again.
    in[i][0] = static_cast<float>(step);
    CHECK(cudaMemcpyAsync(frame[i], in[i], bytes, cudaMemcpyHostToDevice, streams[i]));
    launch_work(frame[i], frame[i], bytes, 4000, streams[i]);
    CHECK(cudaMemcpyAsync(out[i], frame[i], bytes / 8, cudaMemcpyDeviceToHost, streams[i]));
  }
  timer.stop();
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamDestroy(streams[i]));
    CHECK(cudaFreeHost(in[i]));
    CHECK(cudaFreeHost(out[i]));
    DEVICE_FREE(frame[i]);
  }
}

CLEAN_PROGRAM(cuda_clean_events) {
  const std::size_t bytes = 128 * mib;
  cudaStream_t first{}, second{};
  cudaEvent_t ready{}, used{};
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  float *a = nullptr, *b = nullptr;
  DEVICE_ALLOC(a, bytes);
  DEVICE_ALLOC(b, bytes);
  CHECK(cudaMemset(a, 0, bytes));
  timer.start();
  for (int step = 0; step < 60; ++step) {
    launch_work(a, a, bytes, 300, first);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    launch_work(b, a, bytes, 300, second);
    CHECK(cudaEventRecord(used, second));
    CHECK(cudaStreamWaitEvent(first, used, 0));
  }
  timer.stop();
  CHECK(cudaEventDestroy(ready));
  CHECK(cudaEventDestroy(used));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  DEVICE_FREE(a);
  DEVICE_FREE(b);
}

}  // namespace
