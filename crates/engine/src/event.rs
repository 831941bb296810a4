/// An event of a model.
///
/// Events lie in place in the queue and are moved many times: keep them small. 16 bytes make 32 with
/// the header, two to a cache line. What does not fit belongs in the model, with its index in the event.
pub trait Event: Copy {
    /// What the trace hash takes from the event: enough to tell it from another event that could have
    /// run instead. It must not depend on addresses or on anything else that differs between runs.
    fn trace_word(&self) -> u64;
}
