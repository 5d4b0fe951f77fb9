package dev.redlock.spec;

/** The rules of the specification that a step can break. */
public enum Rule {
    // redlock.als: assumptions about the world
    KeysOutlive, HoldersStop, KeysKept, RestartsSeen, OneProcess, ListsOverlap,
    // redlock.als: clients and nodes
    SetIfFree, DeleteIfOwn, ExtendIfOwn, RefusalNoVote, RepairNoVote, NewTokens, MoreThanHalf, OfAllNodes,
    // redlock.als: sets, the restart guard, lists
    AllOfSet, GuardAttempts, GuardExtensions, AllListsExtend,
    // redlock.als: the phases of a token, commands that were sent, and what follows from all rules
    Phases, Sent, Exclusion,
    // fresh.als
    FewLost, WholeGroup, MarkOfProcess, VotersAtStart,
    // clusters.als
    Silence, SilenceServed,
    // timed.als
    FirstByte, OwnT1, OldVotesEnd, LowerFirst,
    // fencing.als
    CountersKept, ExactlyEqual, RaiseIfOwn
}
