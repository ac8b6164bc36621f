"""The use cases; they name the ports they need as Protocols and import no adapter."""
