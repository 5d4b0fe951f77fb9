package dev.redlock.spring;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;

/**
 * Answers of web applications, with Spring MVC or WebFlux, to requests whose lock was not acquired.
 *
 * @threading immutable
 */
@AutoConfiguration
@ConditionalOnWebApplication
@ConditionalOnClass(name = {"org.springframework.http.ProblemDetail",
    "org.springframework.web.bind.annotation.ControllerAdvice"})
@ConditionalOnProperty(name = "redlock.problemdetails.enabled", matchIfMissing = true)
class RedlockWebAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    LockProblems redlockLockProblems() {
        return new LockProblems();
    }
}
