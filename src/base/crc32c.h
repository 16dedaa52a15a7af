// CRC-32C (Castagnoli), as in iSCSI: the CRC of "123456789" is 0xe3069283.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::base {

// The CRC of the bytes that `crc` covers, followed by these. Start with 0. Uses the processor's
// instruction if there is one.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc = 0);

// The same by tables alone, as on processors without the instruction; for tests.
uint32_t Crc32cPortable(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace crosscut::base
