//! The CPU's time stamp counter. The one module of this crate with `unsafe`: the instructions that read it.

use super::{Clock, ClockError};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Duration of the calibration: 10 ms of spinning bound the error of the rate to about one part in ten thousand, which is
/// plenty for limits and reports (timestamps need no rate).
const CALIBRATION: Duration = Duration::from_millis(10);

/// The CPU's time stamp counter: 10 ns a read when nothing is outstanding; but the read waits for all earlier loads, which
/// costs a transaction in a stream of cache misses some 225 ns.
#[derive(Clone, Copy, Debug)]
pub struct TscClock {
    ticks_per_second: u64,
}

impl TscClock {
    /// The counter, if it can be trusted: it runs at a constant rate in all power states, and the operating system, which
    /// compares the counters of all cores, keeps time by it. The first call in a process spins for up to 10 ms.
    ///
    /// # Errors
    /// Reason why it cannot be trusted.
    pub fn new() -> Result<Self, ClockError> {
        static RESULT: OnceLock<Result<TscClock, ClockError>> = OnceLock::new();
        RESULT.get_or_init(Self::check_and_calibrate).clone()
    }

    fn check_and_calibrate() -> Result<Self, ClockError> {
        if !invariant()? {
            return Err(ClockError::NotInvariant);
        }
        match kernel_clock_source() {
            Some(source) if source != "tsc" => Err(ClockError::Distrusted(source)),
            _ => calibrate().map(|ticks_per_second| Self { ticks_per_second }),
        }
    }
}

impl Clock for TscClock {
    #[inline]
    fn now(&self) -> u64 {
        read()
    }

    fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }
}

/// Name of Linux's clock source; `None` where the file is missing.
fn kernel_clock_source() -> Option<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(path).ok().map(|name| name.trim().to_owned())
}

/// Ticks in a second, measured against the monotonic clock.
fn calibrate() -> Result<u64, ClockError> {
    let (start, first) = (Instant::now(), read());
    while start.elapsed() < CALIBRATION {
        std::hint::spin_loop();
    }
    let (last, elapsed) = (read(), start.elapsed());
    let ticks = u128::from(last.saturating_sub(first));
    match u64::try_from(ticks * 1_000_000_000 / elapsed.as_nanos()) {
        Ok(0) | Err(_) => Err(ClockError::Stopped),
        Ok(rate) => Ok(rate),
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod counter {
    use super::ClockError;
    use core::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// CPUID leaf that names power management features; bit 8 of EDX is "invariant TSC".
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;

    /// Returns whether the counter runs at one rate in all power states.
    pub fn invariant() -> Result<bool, ClockError> {
        if __cpuid(0x8000_0000).eax < POWER_MANAGEMENT {
            return Err(ClockError::NoCounter);
        }
        Ok(__cpuid(POWER_MANAGEMENT).edx & INVARIANT_TSC != 0)
    }

    /// The counter, read after all earlier loads of this thread have completed: without the fence the CPU may read it early,
    /// and a transaction could get a timestamp older than the version that it has just read.
    #[inline]
    pub fn read() -> u64 {
        // SAFETY: both instructions exist on every x86_64 CPU and touch no memory; user mode may read the counter, since
        // Linux denies it only to threads that asked for that (PR_SET_TSC).
        unsafe {
            _mm_lfence();
            _rdtsc()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    use super::ClockError;

    /// There is no counter here.
    pub fn invariant() -> Result<bool, ClockError> {
        Err(ClockError::NoCounter)
    }

    /// Never called, since no clock can be made; zero keeps it honest.
    pub fn read() -> u64 {
        0
    }
}

use counter::{invariant, read};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_a_cpu_or_there_is_no_clock() {
        if let Ok(clock) = TscClock::new() {
            let rate = clock.ticks_per_second();
            assert!((100_000_000..20_000_000_000).contains(&rate), "{rate} ticks per second");
            assert_eq!(TscClock::new().unwrap().ticks_per_second(), rate, "measured once in a process");
        }
    }
}
