/* date.c - moments as text. The calendar arithmetic counts from 1 March of year 0, so that the leap day comes last in
 * its year and the lengths of the months before it follow one formula. */
#include "blob/azure/wire/date.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

#define DAY_S         86400
#define DATE_LAST_S   253402300799 /* 9999-12-31T23:59:59Z */
#define DAYS_TO_EPOCH 719468       /* from 0000-03-01 to 1970-01-01 */

static const char day_names[7][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"}; /* 1970-01-01 was a Thursday */
static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil {
    unsigned year, month, day, hour, minute, second; /* month and day from 1 */
};

static struct civil civil_from(int64_t utc_s)
{
    INVARIANT(utc_s >= 0 && utc_s <= DATE_LAST_S);
    unsigned days = (unsigned)(utc_s / DAY_S) + DAYS_TO_EPOCH, second = (unsigned)(utc_s % DAY_S);
    unsigned era = days / 146097, day_of_era = days % 146097; /* 400 years have 146097 days */
    unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned month = (5 * day_of_year + 2) / 153; /* 0 is March */
    return (struct civil){
        .year = era * 400 + year_of_era + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = day_of_year - (153 * month + 2) / 5 + 1,
        .hour = second / 3600,
        .minute = second / 60 % 60,
        .second = second % 60,
    };
}

static unsigned month_length(unsigned year, unsigned month)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : lengths[month - 1];
}

static bool civil_valid(const struct civil *civil)
{
    return civil->year >= 1970 && civil->year <= 9999 && civil->month >= 1 && civil->month <= 12 && civil->day >= 1 &&
           civil->day <= month_length(civil->year, civil->month) && civil->hour < 24 && civil->minute < 60 &&
           civil->second < 60;
}

static int64_t civil_seconds(const struct civil *civil)
{
    unsigned year = civil->year - (civil->month <= 2), month = (civil->month + 9) % 12;
    unsigned day_of_year = (153 * month + 2) / 5 + civil->day - 1;
    unsigned days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    return ((int64_t)days - DAYS_TO_EPOCH) * DAY_S + civil->hour * 3600 + civil->minute * 60 + civil->second;
}

void date_http(int64_t utc_s, char ret_text[DATE_HTTP_SIZE])
{
    struct civil civil = civil_from(utc_s);
    (void)snprintf(ret_text, DATE_HTTP_SIZE, "%s, %02u %s %04u %02u:%02u:%02u GMT", day_names[utc_s / DAY_S % 7],
                   civil.day % 100, month_names[civil.month - 1], civil.year % 10000, civil.hour % 100,
                   civil.minute % 100, civil.second % 100); /* the remainders tell the compiler that it fits */
}

void date_iso(int64_t utc_s, char ret_text[DATE_ISO_SIZE])
{
    struct civil civil = civil_from(utc_s);
    (void)snprintf(ret_text, DATE_ISO_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ", civil.year % 10000, civil.month % 100,
                   civil.day % 100, civil.hour % 100, civil.minute % 100, civil.second % 100);
}

/* Reads exactly `digits` digits and moves on. */
static bool take_number(const char **text, unsigned digits, unsigned *ret_value)
{
    unsigned value = 0;
    for (unsigned i = 0; i < digits; i++) {
        char c = (*text)[i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (unsigned)(c - '0');
    }
    *text += digits;
    *ret_value = value;
    return true;
}

static bool take_text(const char **text, const char *expected)
{
    size_t len = strlen(expected);
    if (strncmp(*text, expected, len))
        return false;
    *text += len;
    return true;
}

/* Reads one of `count` names of three letters and moves on. */
static bool take_name(const char **text, const char names[][4], unsigned count, unsigned *ret_index)
{
    for (unsigned i = 0; i < count; i++)
        if (take_text(text, names[i])) {
            *ret_index = i;
            return true;
        }
    return false;
}

bool date_parse_http(const char *text, int64_t *ret_utc_s)
{
    struct civil civil;
    unsigned day_name, month;
    bool read = take_name(&text, day_names, 7, &day_name) && take_text(&text, ", ") &&
                take_number(&text, 2, &civil.day) && take_text(&text, " ") &&
                take_name(&text, month_names, 12, &month) && take_text(&text, " ") &&
                take_number(&text, 4, &civil.year) && take_text(&text, " ") && take_number(&text, 2, &civil.hour) &&
                take_text(&text, ":") && take_number(&text, 2, &civil.minute) && take_text(&text, ":") &&
                take_number(&text, 2, &civil.second) && take_text(&text, " GMT") && !*text;
    if (!read)
        return false;
    civil.month = month + 1;
    if (!civil_valid(&civil))
        return false;
    *ret_utc_s = civil_seconds(&civil);
    return true;
}

static bool take_fraction(const char **text)
{
    if (!take_text(text, "."))
        return true;
    size_t digits = strspn(*text, "0123456789");
    *text += digits;
    return digits > 0;
}

static bool take_time(const char **text, struct civil *civil)
{
    if (!**text)
        return true; /* a day alone means its midnight */
    if (!take_text(text, "T") || !take_number(text, 2, &civil->hour) || !take_text(text, ":") ||
        !take_number(text, 2, &civil->minute))
        return false;
    if (take_text(text, ":") && (!take_number(text, 2, &civil->second) || !take_fraction(text)))
        return false;
    return take_text(text, "Z") && !**text;
}

bool date_parse_iso(const char *text, int64_t *ret_utc_s)
{
    struct civil civil = {0};
    if (!take_number(&text, 4, &civil.year) || !take_text(&text, "-") || !take_number(&text, 2, &civil.month) ||
        !take_text(&text, "-") || !take_number(&text, 2, &civil.day) || !take_time(&text, &civil) ||
        !civil_valid(&civil))
        return false;
    *ret_utc_s = civil_seconds(&civil);
    return true;
}
