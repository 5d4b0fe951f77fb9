/*
 * Each rule of clients and nodes is needed: without it, the story that is told here ends with two holders. A semicolon
 * is "and then".
 */
module wrong
open redlock

pred without[r: Rule] { Off = r and init and always keysKept and Client.lists.members = Node }

run SetIfFree_ { without[SetIfFree] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 7 steps expect 1

run DeleteIfOwn_ { without[DeleteIfOwn] and some disj a, b, c: Token {
  ask[a]; finish[a]; ask[b]; executeAcquire[b]; win[b]; executeRelease[a];
  ask[c]; executeAcquire[c]; win[c]; not Exclusion
} } for 1 but 3 Token, exactly 3 Node, 3 Int, 10 steps expect 1

-- The late extension of a lease that has ended takes the key from its next holder, and its late release deletes it.
run ExtendIfOwn_ { without[ExtendIfOwn] and some disj a, b, c: Token {
  ask[a]; executeAcquire[a]; win[a]; extend[a]; finish[a]; executeRelease[a]; ask[b]; executeAcquire[b]; win[b];
  executeExtension[a]; executeRelease[a]; ask[c]; executeAcquire[c]; win[c]; not Exclusion
} } for 1 but 3 Token, exactly 3 Node, 3 Int, 15 steps expect 1

run RefusalNoVote_ { without[RefusalNoVote] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; extend[a]; executeExtension[a]; winExtension[a];
  expire; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1

run NewTokens_ { without[NewTokens] and some disj a, b: Token {
  ask[a]; finish[a]; ask[a]; executeAcquire[a]; win[a]; executeRelease[a];
  ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 10 steps expect 1

run MoreThanHalf_ { without[MoreThanHalf] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 4 Node, 4 Int, 7 steps expect 1

run OfAllNodes_ { without[OfAllNodes] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 7 steps expect 1

run ReadersCount_ { without[ReadersCount] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 7 steps expect 1

run AllOfSet_ { without[AllOfSet] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, 2 Resource, exactly 3 Node, 3 Int, 7 steps expect 1

run GuardAttempts_ { without[GuardAttempts] and some disj a, b: Token, n: Node {
  ask[a]; executeAcquire[a]; restart[n]; ask[b]; executeAcquire[b]; win[a]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 8 steps expect 1

-- b has the vote of node n when n forgets it. An extension puts the key of a there, and the next one counts it.
run GuardExtensions_ { without[GuardExtensions] and some disj a, b: Token, n: Node {
  ask[a]; executeAcquire[a]; win[a]; ask[b]; executeAcquire[b]; restart[n]; extend[a]; executeExtension[a];
  extend[a]; executeExtension[a]; winExtension[a]; expire; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 15 steps expect 1

-- b is configured with one of the two lists of a.
run AllListsExtend_ { without[AllListsExtend] and some disj a, b: Token {
  ask[a]; executeAcquire[a]; win[a]; extend[a]; executeExtension[a]; winExtension[a]; expire;
  ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, 2 List, 2 Client, exactly 3 Node, 3 Int, 11 steps expect 1
