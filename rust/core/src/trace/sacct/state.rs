//! States of jobs: the first word of what sacct writes.

/// Meaning of a state for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Completed,
    Failed,
    Cancelled,
    /// Another attempt follows.
    Again,
    Waiting,
    Running,
    Resizing,
    Revoked,
    Unknown,
    None,
}

const STATES: [(&str, &str, State); 24] = [
    ("COMPLETED", "CD", State::Completed),
    ("FAILED", "F", State::Failed),
    ("TIMEOUT", "TO", State::Failed),
    ("OUT_OF_MEMORY", "OOM", State::Failed),
    ("NODE_FAIL", "NF", State::Failed),
    ("BOOT_FAIL", "BF", State::Failed),
    ("LAUNCH_FAILED", "", State::Failed),
    ("CANCELLED", "CA", State::Cancelled),
    ("PREEMPTED", "PR", State::Cancelled),
    ("DEADLINE", "DL", State::Cancelled),
    ("REQUEUED", "RQ", State::Again),
    ("REQUEUE_HOLD", "RH", State::Again),
    ("REQUEUE_FED", "RF", State::Again),
    ("SPECIAL_EXIT", "SE", State::Again),
    ("RESV_DEL_HOLD", "RD", State::Waiting),
    ("PENDING", "PD", State::Waiting),
    ("CONFIGURING", "CF", State::Running),
    ("RUNNING", "R", State::Running),
    ("COMPLETING", "CG", State::Running),
    ("SUSPENDED", "S", State::Running),
    ("STOPPED", "ST", State::Running),
    ("SIGNALING", "SI", State::Running),
    ("STAGE_OUT", "SO", State::Running),
    ("RESIZING", "RS", State::Resizing),
];

/// The first word of a state, without the mark of a cut.
pub(super) fn word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'+' | b'\t')).unwrap_or(text.len());
    &text[..end]
}

impl State {
    pub(super) fn of(word: &[u8]) -> Self {
        if word.is_empty() {
            return Self::None;
        }
        if word.eq_ignore_ascii_case(b"REVOKED") || word.eq_ignore_ascii_case(b"RV") {
            return Self::Revoked;
        }
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        STATES.iter().find(|(long, short, _)| is(long) || is(short)).map_or(Self::Unknown, |(.., state)| *state)
    }

    /// Code of the Standard Workload Format; -1 for none.
    pub(super) fn status(self) -> i32 {
        match self {
            Self::Completed => 1,
            Self::Failed => 0,
            Self::Cancelled => 5,
            _ => -1,
        }
    }

    /// True if a row in this state has ended for good, or for this attempt.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Again | Self::Resizing)
    }
}

/// True if the next row of a job that ended in this state is its next attempt.
pub(super) fn is_followed(word: &[u8]) -> bool {
    const FOLLOWED: [&[u8]; 8] = [
        b"REQUEUED",
        b"PREEMPTED",
        b"NODE_FAIL",
        b"BOOT_FAIL",
        b"REQUEUE_HOLD",
        b"REQUEUE_FED",
        b"SPECIAL_EXIT",
        b"RESIZING",
    ];
    FOLLOWED.iter().any(|state| word.eq_ignore_ascii_case(state))
}
