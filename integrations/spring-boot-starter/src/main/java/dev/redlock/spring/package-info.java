/** The auto-configuration of redlock for Spring Boot 3.5 and 4, and locked methods of beans. */
package dev.redlock.spring;
