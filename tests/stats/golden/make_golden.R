# SPDX-License-Identifier: GPL-2.0-or-later
# Golden figures from R (stats package) for tests/stats/test_against_r.py.
# Run by make_golden.sh; writes lines of key,value with 15 significant digits.
say <- function(key, value) cat(sprintf("\"%s\",%.15g\n", key, value), sep = "")
games_howell <- function(prefix, y, g) {
  g <- droplevels(g); k <- nlevels(g)
  for (i in 1:(k - 1)) for (j in (i + 1):k) {
    a <- y[g == levels(g)[i]]; b <- y[g == levels(g)[j]]
    va <- var(a) / length(a); vb <- var(b) / length(b)
    df <- (va + vb)^2 / (va^2 / (length(a) - 1) + vb^2 / (length(b) - 1))
    q <- abs(mean(b) - mean(a)) / sqrt((va + vb) / 2)
    half <- qtukey(0.95, k, df) * sqrt((va + vb) / 2)
    key <- paste0(prefix, "|games-howell|", levels(g)[i], "|", levels(g)[j], "|")
    say(paste0(key, "df"), df); say(paste0(key, "q"), q)
    say(paste0(key, "p"), ptukey(q, k, df, lower.tail = FALSE))
    say(paste0(key, "low"), mean(b) - mean(a) - half)
    say(paste0(key, "high"), mean(b) - mean(a) + half)
  }
}
one_way <- function(prefix, y, g) {
  g <- factor(g, levels = unique(g)); fit <- aov(y ~ g); table <- summary(fit)[[1]]
  say(paste0(prefix, "|aov|F"), table[1, "F value"]); say(paste0(prefix, "|aov|p"), table[1, "Pr(>F)"])
  say(paste0(prefix, "|aov|ss"), table[1, "Sum Sq"]); say(paste0(prefix, "|aov|ms"), table[2, "Mean Sq"])
  w <- oneway.test(y ~ g)
  say(paste0(prefix, "|welch|F"), w$statistic); say(paste0(prefix, "|welch|p"), w$p.value)
  say(paste0(prefix, "|welch|df"), w$parameter[2])
  k <- kruskal.test(y ~ g)
  say(paste0(prefix, "|kruskal|H"), k$statistic); say(paste0(prefix, "|kruskal|p"), k$p.value)
  b <- bartlett.test(y ~ g)
  say(paste0(prefix, "|bartlett|K"), b$statistic); say(paste0(prefix, "|bartlett|p"), b$p.value)
  s <- shapiro.test(residuals(fit))
  say(paste0(prefix, "|shapiro|W"), s$statistic); say(paste0(prefix, "|shapiro|p"), s$p.value)
  dev <- abs(y - ave(y, g, FUN = median)); bf <- summary(aov(dev ~ g))[[1]]
  say(paste0(prefix, "|brown-forsythe|F"), bf[1, "F value"])
  say(paste0(prefix, "|brown-forsythe|p"), bf[1, "Pr(>F)"])
  tukey <- TukeyHSD(fit)$g
  for (i in 1:(nlevels(g) - 1)) for (j in (i + 1):nlevels(g)) {
    row <- tukey[paste0(levels(g)[j], "-", levels(g)[i]), ]
    key <- paste0(prefix, "|tukey|", levels(g)[i], "|", levels(g)[j], "|")
    say(paste0(key, "diff"), row["diff"]); say(paste0(key, "low"), row["lwr"])
    say(paste0(key, "high"), row["upr"]); say(paste0(key, "p"), row["p adj"])
  }
  games_howell(prefix, y, g)
}
march <- read.csv("../shared/data/march-make-bench.csv", check.names = FALSE)
for (host in unique(march$hostname)) {
  part <- march[march$hostname == host, ]
  one_way(host, part[["time(sec)"]], part$march)
}
small <- read.csv("tests/data/unbalanced.csv")
one_way("level", small$seconds, small$level)
small$compiler <- factor(small$compiler); small$level <- factor(small$level)
full <- lm(seconds ~ compiler * level, small); error <- deviance(full) / df.residual(full)
type2 <- function(term, with_it, without) {
  ss <- deviance(without) - deviance(with_it)
  df <- df.residual(without) - df.residual(with_it)
  say(paste0("type2|", term, "|ss"), ss); say(paste0("type2|", term, "|df"), df)
  say(paste0("type2|", term, "|F"), ss / df / error)
  say(paste0("type2|", term, "|p"), pf(ss / df / error, df, df.residual(full), lower.tail = FALSE))
}
additive <- lm(seconds ~ compiler + level, small)
type2("compiler", additive, lm(seconds ~ level, small))
type2("level", additive, lm(seconds ~ compiler, small))
type2("compiler × level", full, additive)
balanced <- summary(aov(`time(sec)` ~ hostname * factor(rep(rep(1:2, 6), 9)), march))[[1]]
for (i in 1:3) {
  say(paste0("balanced|", i, "|F"), balanced[i, "F value"])
  say(paste0("balanced|", i, "|p"), balanced[i, "Pr(>F)"])
}
t <- t.test(log(seconds) ~ compiler, small)
say("log-welch|t", t$statistic); say("log-welch|df", t$parameter); say("log-welch|p", t$p.value)
p <- c(0.01, 0.04, 0.03, 0.005, 0.5)
for (i in 1:5) say(paste0("holm|", i), p.adjust(p, "holm")[i])
for (n in c(3, 12, 30)) say(paste0("power|", n), power.t.test(n = n, delta = 1, sd = 1.2)$power)
for (goal in c(0.8, 0.9)) {
  say(paste0("n|", goal), power.t.test(delta = 1, sd = 1.2, power = goal)$n)
  say(paste0("n-paired|", goal), power.t.test(delta = 1, sd = 1.2, power = goal, type = "paired")$n)
}
for (k in c(2, 3, 10, 50)) for (df in c(5.5, 33, 120, 1000)) {
  say(sprintf("qtukey|%g|%g", k, df), qtukey(0.95, k, df))
  for (q in c(0.5, 2, 3.5, 6)) {
    say(sprintf("ptukey|%g|%g|%g", k, df, q), ptukey(q, k, df, lower.tail = FALSE))
  }
}
