/** A lock registry of Spring Integration over independent Redis or Valkey masters. */
package dev.redlock.spring.integration;
