/** Benchmarks of the RESP codec, each beside Netty's or Lettuce's decoder or encoder as its baseline. */
package dev.redlock.jmh.codec;
