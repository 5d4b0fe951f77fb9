/** The auto-configuration of redlock for Spring Boot 3.5 and 4. */
package dev.redlock.spring;
