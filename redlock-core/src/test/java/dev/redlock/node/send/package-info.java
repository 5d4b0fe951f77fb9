/** Tests of the classes that carry commands and replies: encodings, batches, the ring, buffers. */
package dev.redlock.node.send;
