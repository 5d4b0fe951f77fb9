/* The invariant of redlock.als: true at the start, kept by each step from any state, and enough for exclusion. */
module induction
open redlock

pred product { no Off }
pred plain { product and one Resource and no Reader and one List and List.members = Node }
pred kinds { product and one List and List.members = Node }
pred lists { product and one Resource and no Reader }

check Start { init implies invariant }
  for 4 but 7 Node, 4 Int, 1 steps expect 0

check StepPlain { plain and invariant and step implies after invariant }
  for 4 but 7 Node, 4 Int, 2 steps expect 0
check ExclusionPlain { plain and invariant and keysKept implies Exclusion }
  for 4 but 7 Node, 4 Int, 1 steps expect 0

-- Readers and writers, permits, sets.
check StepKinds { kinds and invariant and step implies after invariant }
  for 4 but 5 Node, 3 Resource, 4 Int, 2 steps expect 0
check ExclusionKinds { kinds and invariant and keysKept implies Exclusion }
  for 4 but 5 Node, 3 Resource, 4 Int, 1 steps expect 0

-- Clients with two lists.
check StepLists { lists and invariant and step implies after invariant }
  for 4 but 5 Node, 3 List, 4 Int, 2 steps expect 0
check ExclusionLists { lists and invariant and keysKept implies Exclusion }
  for 4 but 5 Node, 3 List, 4 Int, 1 steps expect 0

-- Safe too, while each lease keeps a majority of its nodes: an extension that sets a missing key is a vote.
check StepRepair { Off = RepairNoVote and invariant and step implies after invariant }
  for 4 but 5 Node, 3 List, 3 Resource, 4 Int, 2 steps expect 0

-- The events can happen: a restart during an extension, and late commands of a lease that has ended.
run Possible { product and init and always keysKept and some disj a, b: Token, n: Node {
  ask[a]; executeAcquire[a]; win[a]; extend[a]; restart[n]; executeExtension[a]; winExtension[a]; finish[a];
  executeRelease[a]; ask[b]; executeAcquire[b]; win[b]; executeAcquire[a]; executeExtension[a]; b in Acting
} } for 1 but 2 Token, exactly 5 Node, 4 Int, 16 steps expect 1
-- A lease of the only node outlives a restart that forgets it: the extension in the quarantine is a vote.
run Reclaimed { product and init and always keysKept and Client in Reclaiming and some a: Token, n: Node {
  ask[a]; executeAcquire[a]; win[a]; restart[n]; extend[a]; executeExtension[a]; winExtension[a]; a in Acting
    and has[n, a] and not inQuarantine[n]
} } for 1 but exactly 1 Node, 4 Int, 8 steps expect 1
