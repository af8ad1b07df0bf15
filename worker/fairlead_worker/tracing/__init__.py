"""OpenTelemetry spans of attempts, with the extra `otel`.

In: attempts that start and end, the W3C headers of their jobs, OpenTelemetry's variables. Out:
spans, sent by OTLP or by the application's own tracer provider.

`setup.start` decides from those variables whether attempts are traced. `spans` makes the spans,
`origin_reader` reads from the database what links a retry to the attempt before it, `otlp`
sends. Only `spans` and `otlp` import OpenTelemetry. Whatever fails here is logged and changes
nothing for the attempt. The package imports `attempts` and the core. Begin with `spans`.
"""
