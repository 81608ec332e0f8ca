# Makes the Fortran module of berth.h: constants, structures and functions through iso_c_binding.
# A request and an output are passed by reference, every other pointer as a type(c_ptr).
# Ends with an error at a declaration that it does not know.

function fail(text) { print "fortran.awk: no Fortran for: " text >"/dev/stderr"; exit 1 }

function trim(text) { gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text); return text }

# Fortran's type of a C type without const and without its stars
function kind(type, stars)
{
    if (type in function_types) return "type(c_funptr)"
    if (stars > 0) return "type(c_ptr)"
    if (type ~ /^struct /) return "type(" substr(type, 8) ")"
    if (type ~ /^enum / || type == "int" || type == "unsigned") return "integer(c_int)"
    if (type == "short") return "integer(c_short)"
    if (type == "int64_t" || type == "uint64_t") return "integer(c_int64_t)"
    if (type == "size_t") return "integer(c_size_t)"
    if (type == "double") return "real(c_double)"
    fail(type)
}

# A structure that nobody has initialised is {0}, as C's.
function zero(its)
{
    if (its ~ /^type\(berth_/) return ""
    if (its == "type(c_ptr)") return " = c_null_ptr"
    return its ~ /^real/ ? " = 0.0_c_double" : " = 0"
}

# Splits "const char *const *item" into type, stars and name.
function declaration(text,   whole)
{
    whole = text
    gsub(/const /, "", text)
    stars = gsub(/\*/, "", text)
    text = trim(text)
    if (!match(text, / [a-z_][a-z0-9_]*$/)) fail(whole)
    name = substr(text, RSTART + 1)
    type = substr(text, 1, RSTART - 1)
}

function constants(body,   count, i, item, part, value)
{
    value = -1
    print "    enum, bind(c)"
    count = split(body, item, ",")
    for (i = 1; i <= count; i++) {
        if (trim(item[i]) == "") continue
        if (split(item[i], part, "=") == 2) value = trim(part[2]); else value++
        print "        enumerator :: " trim(part[1]) " = " value
    }
    print "    end enum\n"
}

function structure(its, body,   count, i, j, member, names, first)
{
    print "    type, bind(c) :: " its
    count = split(body, member, ";")
    for (i = 1; i < count; i++) {
        names = split(trim(member[i]), part, ",")
        for (j = 1; j <= names; j++) {
            if (j > 1) part[j] = first " " part[j]
            declaration(part[j])
            print "        " kind(type, stars) " :: " name zero(kind(type, stars))
            first = type
        }
    }
    print "    end type\n"
}

# How a pointer is passed: "out" to what the function fills, "in" to a request, "" as it is
function passed(type, stars, name, is_const)
{
    if (name == "request") return is_const ? "in" : "out"
    return name ~ /^ret_/ && !is_const && (stars == 2 || stars == 1 && type != "void") ? "inout" : ""
}

function argument(text,   how, is_const)
{
    is_const = text ~ /^ ?const /
    declaration(text)
    if (name == "berth") name = "handle"
    how = passed(type, stars, name, is_const)
    names_of = names_of (names_of == "" ? "" : ", ") name
    if (how == "")
        lines = lines "            " kind(type, stars) ", value :: " name "\n"
    else
        lines = lines "            " kind(type, stars - 1) ", intent(" how ") :: " name "\n"
}

function prototype(text,   open, its, result, count, i, part)
{
    open = index(text, "(")
    declaration(substr(text, 1, open - 1))
    its = name
    result = type == "void" && stars == 0 ? "" : kind(type, stars)
    text = substr(text, open + 1)
    sub(/\)$/, "", text)
    names_of = lines = ""
    count = trim(text) == "void" ? 0 : split(text, part, ",")
    for (i = 1; i <= count; i++) argument(part[i])
    text = (result == "" ? "subroutine " : "function ") its "(" names_of ") &\n            bind(c)" \
        (result == "" ? "" : " result(its)")
    print "        " text "\n            import"
    printf "%s", lines
    if (result != "") print "            " result " :: its"
    print "        end " (result == "" ? "subroutine\n" : "function\n")
}

/^#define BERTH_[A-Z_]+ [0-9]+u?$/ { sub(/u$/, ""); defined[++defines] = $2 " = " $3 }
!/^#/ { text = text " " $0 }

END {
    print "! libberth for Fortran, made from berth.h, which has the contract of each function. A request and an"
    print "! output are passed by reference, every other pointer as a type(c_ptr). Structures begin as zeros."
    print "module berth"
    print "    use, intrinsic :: iso_c_binding"
    print "    implicit none\n"
    for (i = 1; i <= defines; i++) print "    integer(c_int), parameter :: " defined[i]
    print ""
    while (i = index(text, "/*")) {
        j = index(substr(text, i), "*/")
        text = substr(text, 1, i - 1) " " substr(text, i + j + 1)
    }
    sub(/extern "C" \{/, "", text)
    while (match(text, /[;{]/)) {
        head = trim(substr(text, 1, RSTART - 1))
        if (substr(text, RSTART, 1) == "{") {
            j = index(text, "}")
            body = substr(text, RSTART + 1, j - RSTART - 1)
            text = substr(text, j + 1)
            sub(/^[^;]*;/, "", text)
            if (head ~ /^enum /) constants(body)
            else if (head ~ /^struct /) structure(substr(head, 8), body)
            else fail(head)
        } else {
            text = substr(text, RSTART + 1)
            if (head ~ /^typedef /) {
                match(head, /berth_[a-z0-9_]*\(/)
                function_types[substr(head, RSTART, RLENGTH - 1)] = 1
            } else if (sub(/^BERTH_PUBLIC /, "", head)) prototypes[++functions] = head
        }
    }
    print "    interface"
    for (i = 1; i <= functions; i++) prototype(prototypes[i])
    print "        pure function berth_c_strlen(text) bind(c, name=\"strlen\") result(length)"
    print "            import\n            type(c_ptr), value :: text\n            integer(c_size_t) :: length"
    print "        end function"
    print "    end interface"
    print ""
    print "contains\n"
    print "    ! A text of the library's as a Fortran one; \"\" for none."
    print "    function berth_text(pointer) result(text)"
    print "        type(c_ptr), intent(in) :: pointer"
    print "        character(len=:), allocatable :: text"
    print "        character(kind=c_char), pointer :: characters(:)"
    print "        integer :: i, length"
    print "        length = 0"
    print "        if (c_associated(pointer)) length = int(berth_c_strlen(pointer))"
    print "        allocate (character(len=length) :: text)"
    print "        if (length == 0) return"
    print "        call c_f_pointer(pointer, characters, [length])"
    print "        do i = 1, length"
    print "            text(i:i) = characters(i)"
    print "        end do"
    print "    end function"
    print "end module"
}
