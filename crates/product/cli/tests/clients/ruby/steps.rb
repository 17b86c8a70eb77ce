# Steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way.

def step(name)
  yield
  puts "ok #{name}"
rescue StandardError, NotImplementedError => error
  puts "failed #{name}: #{sqlstate(error)} #{error.class}: #{error.message.split.join(" ")[0, 300]}"
  warn error.full_message
ensure
  $stdout.flush
end

# SQLSTATE of an error, or of the driver's error that it wraps.
def sqlstate(error)
  while error
    result = error.result if error.respond_to?(:result)
    return result.error_field(PG::Result::PG_DIAG_SQLSTATE) if result.respond_to?(:error_field)
    error = error.cause
  end
  "-----"
end

def equal(found, wanted)
  raise "found #{found.inspect}, wanted #{wanted.inspect}" unless found == wanted
end

# Fails unless the block raises an error of this class, and returns the error.
def refused(error_class)
  yield
rescue error_class => error
  error
else
  raise "not refused with #{error_class}"
end
