// SPDX-License-Identifier: GPL-2.0-or-later
#include "../program.h"

#include <EXTERN.h>
#include <perl.h>
#include <stdlib.h>

const char *const program_name = "perl";
const unsigned program_units = 90;

/* Each task is a function of the unit's number that returns a string. */
static const char script[] =
	"my @tasks;\n"
	"sub random { my $seed = shift; return sub { $seed = ($seed * 1103515245 + 12345) % 2147483648;\n"
	"  return int($seed / 65536) % $_[0]; } }\n"
	"push @tasks, sub {\n"						/* regular expressions */
	"  my ($u) = @_; my $text = ''; my $r = random($u); my $out = '';\n"
	"  $text .= sprintf('%s=%d; <%s@example.org> ', ('alpha', 'beta', 'gamma')[$r->(3)], $r->(1000),\n"
	"    chr(97 + $r->(26)) x (1 + $r->(5))) for 1 .. 6;\n"
	"  while ($text =~ /(\\w+)=(\\d+);\\s+<([^@>]+)@([\\w.]+)>/g) { $out .= \"$1:$3,\" if $2 % 2; }\n"
	"  (my $copy = $text) =~ s/(\\d)(?=(?:\\d{3})+\\b)/$1_/g; $copy =~ tr/a-m/A-M/;\n"
	"  $copy =~ s{\\b(alpha|beta)\\b}{uc(substr($1, 0, 1)) . length $1}gie;\n"
	"  return $out . $copy . join('|', split /[;<>]\\s*/, $text, 5); };\n"
	"push @tasks, sub {\n"						/* hashes */
	"  my ($u) = @_; my (%count, %by); my $r = random($u + 1);\n"
	"  $count{'k' . $r->(20)} += $_ for 1 .. 40;\n"
	"  push @{ $by{ $count{$_} % 5 } }, $_ for sort keys %count;\n"
	"  delete $count{k3}; my %back = reverse %count;\n"
	"  return join ',', map { \"$_=@{ $by{$_} }\" } sort { $a <=> $b } keys %by; };\n"
	"push @tasks, sub {\n"						/* sorting */
	"  my ($u) = @_; my $r = random($u + 2);\n"
	"  my @rows = map { { name => chr(65 + $r->(26)) . $_, size => $r->(50) } } 1 .. 16;\n"
	"  my @order = sort { $b->{size} <=> $a->{size} or $a->{name} cmp $b->{name} } @rows;\n"
	"  my @numbers = sort { $a <=> $b } map { $_->{size} * 3 % 17 } @rows;\n"
	"  return join ' ', (map { $_->{name} } @order), @numbers; };\n"
	"push @tasks, sub {\n"						/* strings */
	"  my ($u) = @_; my $s = join '', map { chr(97 + ($_ * $u) % 26) } 1 .. 40;\n"
	"  my $t = reverse $s; substr($t, 5, 10) = 'x' x 3; my $at = 0; my $n = 0;\n"
	"  while (($at = index($s . $t, substr($s, 3, 1), $at)) >= 0) { $n++; $at++; }\n"
	"  my $wide = \"\\x{3b1}\\x{3b2}\" . ucfirst lc $t; $wide .= \"$n$_\" for split //, substr($s, 0, 8);\n"
	"  return length($wide) . join '-', map { ord } split //, substr $wide, 0, 12; };\n"
	"push @tasks, sub {\n"						/* formats and numbers */
	"  my ($u) = @_; my @lines;\n"
	"  for my $i (1 .. 7) { push @lines, sprintf('%05d %-8s %7.3f %x %e %s', $i * $u, 'ab' x ($i % 4),\n"
	"    sqrt($i + $u) / 7, $i * 4097, 1 / ($i + 1), $i ** 3 % 11); }\n"
	"  return join \"\\n\", @lines; };\n"
	"push @tasks, sub {\n"						/* closures and recursion */
	"  my ($u) = @_; my @adders = map { my $n = $_; sub { $n += $_[0] } } 1 .. 6;\n"
	"  my $sum = 0; for my $round (1 .. 4) { $sum += $_->($round) for @adders; }\n"
	"  my $fib; $fib = sub { my $n = shift; $n < 2 ? $n : $fib->($n - 1) + $fib->($n - 2) };\n"
	"  my $value = $fib->(7 + $u % 2); undef $fib;\n"
	"  return $sum * $value . join ',', grep { $_ % 3 } map { $_ * 2 } 1 .. 15; };\n"
	"push @tasks, sub {\n"						/* packing */
	"  my ($u) = @_; my $bytes = pack 'NnCa8w*', $u * 65537, $u, $u % 256, \"unit$u\", map { $_ * 99 } 1 .. 6;\n"
	"  my @parts = unpack 'NnCa8w*', $bytes; my $v = ''; vec($v, $_, 4) = $_ % 16 for 0 .. 15;\n"
	"  return join(':', @parts) . unpack('H*', $v) . unpack('%32C*', $bytes); };\n"
	"{ package Shape; sub new { my ($class, %of) = @_; return bless { %of }, $class }\n"
	"  sub area { 0 } sub name { ref shift }\n"
	"  package Square; our @ISA = ('Shape'); sub area { $_[0]{side} ** 2 }\n"
	"  package Circle; our @ISA = ('Shape'); sub area { 3 * $_[0]{radius} ** 2 } }\n"
	"push @tasks, sub {\n"						/* objects, eval and errors */
	"  my ($u) = @_; my @all = map { $_ % 2 ? Square->new(side => $_ + $u) : Circle->new(radius => $_) } 1 .. 8;\n"
	"  my $total = 0; $total += $_->area for @all; my @errors;\n"
	"  for my $i (1 .. 4) { eval { die { code => $i } if $i % 2; $all[$i]->nothing; 1 } or\n"
	"    push @errors, ref $@ ? $@->{code} : length $@ > 20; }\n"
	"  my $made = eval \"sub { my \\$x = shift; return \\$x * $u + \" . join('+', 1 .. 5) . ' }';\n"
	"  return join ',', $total, @errors, $made->(7), map { $_->name } @all; };\n"
	"sub unit { my ($u) = @_; return join \"\\n\", map { $tasks[$_]->($u + $_) } 0 .. $#tasks; }\n";

static PerlInterpreter *interpreter;

int program_set_up(void)
{
	static char name[] = "perl", option[] = "-e", *words[] = { name, option, (char *)script, NULL };
	int count = 3;
	char **arguments = words, **environment = environ;

	setenv("PERL_HASH_SEED", "0", 1);	/* else addresses and time decide the order of keys */
	setenv("PERL_PERTURB_KEYS", "0", 1);
	PERL_SYS_INIT3(&count, &arguments, &environment);
	interpreter = perl_alloc();
	if (!interpreter)
		return -1;
	perl_construct(interpreter);
	return perl_parse(interpreter, NULL, 3, words, NULL) || perl_run(interpreter) ? -1 : 0;
}

uint64_t program_unit(unsigned number)
{
	dTHX;
	dSP;
	STRLEN length = 0;
	uint64_t sum = number;

	ENTER;
	SAVETMPS;
	PUSHMARK(SP);
	mXPUSHu(number);
	PUTBACK;
	if (call_pv("unit", G_SCALAR | G_EVAL) == 1) {
		SPAGAIN;
		SV *result = POPs;
		const char *text = SvPV(result, length);

		sum = fold(sum, text, length);
		PUTBACK;
	}
	if (SvTRUE(ERRSV)) {
		fprintf(stderr, "%s", SvPV_nolen(ERRSV));
		exit(3);
	}
	FREETMPS;
	LEAVE;
	return sum;
}
