<?php
// Steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way.

// What fails, fails: warnings are errors.
set_error_handler(function (int $level, string $message) {
    throw new ErrorException($message, 0, $level);
});

function step(string $name, callable $body): void
{
    try {
        $body();
        echo "ok $name\n";
    } catch (Throwable $error) {
        $code = preg_match('/^[0-9A-Z]{5}$/', (string) $error->getCode()) ? $error->getCode() : '-----';
        $message = preg_replace('/\s+/', ' ', $error->getMessage());
        echo "failed $name: $code ", substr($message, 0, 300), "\n";
        fwrite(STDERR, "$error\n");
    }
}

function equal(mixed $found, mixed $wanted): void
{
    if ($found !== $wanted) {
        throw new Exception('found ' . json_encode($found) . ', wanted ' . json_encode($wanted));
    }
}

function refused(string $code, callable $body): void
{
    try {
        $body();
    } catch (PDOException $error) {
        equal($error->getCode(), $code);
        return;
    }
    throw new Exception("not refused with $code");
}
